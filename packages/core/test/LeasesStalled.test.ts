/** Proves that a process whose commits do not end leaves its trees to others, although its renewals of leases would. */
import { describe, expect, it } from "@effect/vitest"
import { Leases } from "@skein/core/Leases"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { lastingStorage } from "./support/mortal.ts"
import { messagesOf, root } from "./support/tree.ts"

type Storage = Context.Tag.Service<SessionStorage>

const run = <A>(program: (inner: Storage) => Effect.Effect<A, unknown, Scope.Scope>) =>
  simulate(Effect.scoped(Effect.flatMap(lastingStorage, program)), { seed: 1 })

/** A process on this storage, whose commits do something first; renewals do not. */
const process = (
  inner: Storage,
  script: Scripted.Scripted,
  first: Effect.Effect<void> = Effect.void,
  tools: ReadonlyArray<ReturnType<typeof SkeinTest.tool>> = []
) =>
  Layer.build(Layer.fresh(SkeinTest.layer(script, {
    tools,
    storage: Layer.succeed(SessionStorage, {
      ...inner,
      mail: Effect.succeed(undefined),
      commit: (writes) =>
        writes.every(({ _tag }) => _tag === "Renew")
          ? inner.commit(writes)
          : Effect.zipRight(first, inner.commit(writes))
    })
  })))

const tool = (name: string, work: Effect.Effect<string>) => SkeinTest.tool(name, () => work, { effect: "never" })

describe("a process whose commits do not end", () => {
  it("ends its work after 35 seconds, loses its tree to another, and stores nothing in it later", () => {
    run((inner) =>
      Effect.gen(function*() {
        const writer = yield* Effect.makeLatch(true)
        let ended = false
        const endless = tool("endless", Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (ended = true))))
        const quick = tool("quick", Effect.as(Effect.sleep(2_000), "quick is done"))
        const script = Scripted.make({ build: [{ calls: [{ tool: "endless" }, { tool: "quick" }] }, "of the first"] })
        const hanging = yield* process(inner, script, writer.await, [endless, quick])
        const other = yield* process(inner, Scripted.make({ build: ["of the second"] }), Effect.void, [endless, quick])
        const { id } = yield* Effect.provide(root(), hanging)
        yield* Effect.fork(Effect.exit(Effect.provide(Session.prompt(id, "Go"), hanging)))
        yield* Effect.sleep(1_000)
        yield* writer.close
        const isDue = Effect.map(
          Effect.provide(Effect.flatMap(Leases, (leases) => leases.due([id])), other),
          (found) => found.length > 0
        )
        for (let look = 0; look < 64; look++) {
          expect([yield* isDue, ended]).toEqual([false, false])
          yield* Effect.sleep(500)
        }
        for (let look = 0; look < 20 && !(yield* isDue); look++) yield* Effect.sleep(500)
        expect([yield* isDue, ended]).toEqual([true, true])
        yield* Effect.provide(
          Effect.flatMap(Session, (session) => Effect.zipRight(session.resume(id), session.untilIdle(id))),
          other
        )
        const told = yield* Effect.provide(messagesOf(id), other)
        expect(JSON.stringify(told)).toContain("of the second")
        yield* writer.open
        yield* Effect.sleep(60_000)
        expect(yield* Effect.provide(messagesOf(id), other)).toEqual(told)
        expect(script.requests).toHaveLength(1)
      })
    )
  })

  it("keeps its tree while they end, however slow they are", () => {
    run((inner) =>
      Effect.gen(function*() {
        const one = Effect.unsafeMakeSemaphore(1)
        let pause = 0
        const slow = Effect.suspend(() => one.withPermits(1)(Effect.sleep(pause)))
        const calls = Array.from({ length: 6 }, (_, n) => ({ tool: "quick", input: { n } }))
        const script = Scripted.make({ build: [{ calls }, "done"] })
        const quick = tool("quick", Effect.succeed("quick is done"))
        const busy = yield* process(inner, script, slow, [quick])
        const other = yield* process(inner, Scripted.make({ build: ["mine"] }))
        const { id } = yield* Effect.provide(root(), busy)
        pause = 20_000
        const working = yield* Effect.fork(Effect.provide(Session.prompt(id, "Go"), busy))
        for (let look = 0; look < 300; look++) {
          expect(yield* Effect.provide(Effect.flatMap(Leases, (leases) => leases.due([id])), other)).toEqual([])
          yield* Effect.sleep(500)
        }
        pause = 0
        expect((yield* working).text).toBe("done")
      })
    )
  })
})
