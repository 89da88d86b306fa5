import { expect, it } from "@effect/vitest"
import { Owner } from "@skein/core/Owner"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import { makeWatchServers, type Member } from "../../src/internal/entries.ts"

const member = (n: number, silence = 0): Member => ({
  owner: `http%3A%2F%2Fh%3A${n}@h:${n}:1:2:3`,
  url: `http://h:${n}`,
  load: "{}",
  proof: "p",
  age: 0,
  silence
})

/** What the log says of looks that find these servers; undefined if the database does not answer. */
const logged = (looks: ReadonlyArray<ReadonlyArray<Member> | undefined>, gone: ReadonlyArray<number> = []) => {
  const lines: Array<string> = []
  const logger = Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ logLevel, message }) => void lines.push(`${logLevel.label}: ${String(message)}`))
  )
  let at = 0
  return Effect.gen(function*() {
    const look = yield* makeWatchServers("http://h:1", Effect.sync(() => looks[at++]))
    for (const _ of looks) {
      yield* look
      yield* TestClock.adjust("5 seconds")
    }
    return lines
  }).pipe(
    Effect.provideService(Owner, {
      id: member(1).owner,
      isGone: (owner) => Effect.succeed(gone.some((n) => member(n).owner === owner)),
      evict: () => Effect.succeed(true)
    }),
    Effect.provide(logger)
  )
}

const joined = "INFO: http://h:1 has joined the cluster. Other servers in it: http://h:2."

it.effect("names the others at the start, and then says once who joins, leaves, is silent and is back", () =>
  Effect.gen(function*() {
    const both = [member(1), member(2)]
    const lines = yield* logged([
      both,
      [...both, member(3)],
      [...both, member(3, 6_400)],
      [...both, member(3, 11_400)],
      [...both, member(3)],
      both
    ])
    expect(lines).toEqual([
      joined,
      "INFO: The server http://h:3 has joined the cluster (process 3 on the host h).",
      "WARN: The server http://h:3 is silent: it was last seen 6 s ago. The others continue its trees.",
      "INFO: The server http://h:3 is back.",
      "INFO: The server http://h:3 has left the cluster."
    ])
  }))

it.effect("says which process of a dead server has ended, and not that it left once it is no longer listed", () =>
  Effect.gen(function*() {
    expect(yield* logged([[member(1)], [member(1), member(2)], [member(1)]], [2])).toEqual([
      "INFO: http://h:1 has joined the cluster. No other server is in it.",
      "WARN: The server http://h:2 is dead: its process 2 on the host h has ended. The others continue its trees."
    ])
  }))

it.effect("calls nobody silent just after the database was away", () =>
  Effect.gen(function*() {
    const late = [member(1), member(2, 40_000)]
    expect(yield* logged([[member(1), member(2)], undefined, late, [member(1), member(2)]])).toEqual([joined])
    expect(yield* logged([[member(1), member(2)], undefined, late, late, late])).toEqual([
      joined,
      "WARN: The server http://h:2 is silent: it was last seen 40 s ago. The others continue its trees."
    ])
  }))
