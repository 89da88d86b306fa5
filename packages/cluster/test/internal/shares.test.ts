import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { expect, it } from "@effect/vitest"
import { Owner } from "@skein/core/Owner"
import type { SharedGate } from "@skein/core/RequestGate"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { makeShares } from "../../src/internal/shares.ts"

const failures = {
  failed: Effect.fail(new SqlError({ cause: new Error("cut off"), message: "Connection error" })),
  died: Effect.die(new Error("The COMMIT of a lost connection failed"))
}

it.scoped.each(Object.entries(failures))("shares are lent again after a transaction that %s", ([name, failure]) => {
  let transactions = 0
  const lines: Array<unknown> = []
  const logger = Logger.make(({ message }) => void lines.push(message))
  const lent: Array<number> = []
  const none = Effect.succeed([])
  const client = Object.assign(() => none, { unsafe: () => none }) as never
  const gate: SharedGate = {
    key: "openai",
    demand: () => ({ limit: 10, held: 0, waiting: 1, roots: 1 }),
    lend: (share) => void lent.push(share),
    hold: () => {},
    closedFor: () => 0
  }
  return Effect.gen(function*() {
    yield* makeShares(
      { share: ({ added }) => added(gate) },
      (work) => ++transactions === 1 ? failure : work
    )
    yield* TestClock.adjust("550 millis")
    expect([transactions, lent]).toEqual([1, []])
    yield* TestClock.adjust("5 seconds")
    expect(lent.at(-1)).toBe(10)
    if (name === "failed") {
      expect(lines).toEqual([[
        "The limits on requests could not be divided among the servers",
        "Connection error (cut off)"
      ]])
    }
  }).pipe(
    Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
    Effect.provideService(SqlClient.SqlClient, client),
    Effect.provideService(Owner, { id: "own", isGone: () => Effect.succeed(false), evict: () => Effect.succeed(true) })
  )
})

it.effect("a server that leaves gives its shares back after its last round, and warns of nothing", () => {
  const seen: Array<unknown> = []
  const logger = Logger.make(({ message }) => void seen.push(message))
  const client = Object.assign(() => Effect.sync(() => (seen.push("given back"), [])), { unsafe: () => Effect.never })
  const gate: SharedGate = {
    key: "openai",
    demand: () => ({ limit: 10, held: 0, waiting: 1, roots: 1 }),
    lend: () => {},
    hold: () => {},
    closedFor: () => 0
  }
  return Effect.gen(function*() {
    const begun = yield* Effect.makeLatch()
    const scope = yield* Scope.make()
    yield* Scope.extend(
      makeShares(
        { share: ({ added }) => added(gate) },
        (work) =>
          Effect.onInterrupt(Effect.zipRight(begun.open, work), () => Effect.sync(() => seen.push("round over")))
      ),
      scope
    )
    yield* TestClock.adjust("550 millis")
    yield* begun.await
    yield* Scope.close(scope, Exit.void)
    expect(seen).toEqual(["round over", "given back"])
  }).pipe(
    Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
    Effect.provideService(SqlClient.SqlClient, client as never),
    Effect.provideService(Owner, { id: "own", isGone: () => Effect.succeed(false), evict: () => Effect.succeed(true) })
  )
})
