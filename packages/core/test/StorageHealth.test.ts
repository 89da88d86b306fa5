import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { StorageHealth } from "@skein/core/StorageHealth"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { lastingStorage } from "./support/mortal.ts"
import { type Broken, makeOutages } from "./support/outages.ts"
import { root } from "./support/tree.ts"

/** What listeners hear while a session works and the storage is away from second 5 for this long. */
const heard = (what: Broken, length: number) =>
  simulate(
    Effect.scoped(Effect.gen(function*() {
      const outages = makeOutages(yield* lastingStorage)
      const answer = { text: "the end", delay: { first: 120_000 } }
      return yield* Effect.provide(
        Effect.gen(function*() {
          const health = yield* StorageHealth
          const { id } = yield* root()
          yield* Effect.fork(Effect.either(Session.prompt(id, "Go")))
          yield* Effect.sleep(5_000)
          const changes: Array<string> = []
          const forget = health.onChange((trouble) => void changes.push(trouble === undefined ? "back" : "away"))
          const ending = yield* Effect.fork(outages.begin(what, length))
          yield* Effect.sleep(1_000)
          const early = health.trouble()
          yield* Effect.sleep(4_000)
          const late = health.trouble()
          yield* ending
          yield* Effect.sleep(15_000)
          const after = health.trouble()
          forget()
          return { early, isLate: late !== undefined, after, changes }
        }),
        SkeinTest.layer(Scripted.make({ build: [answer] }), { storage: outages.layer })
      )
    })),
    { seed: 1 }
  )

it.each(["all", "commits"] as const)(
  "tells within seconds that a storage is away, and that it is back (%s)",
  (what) => {
    for (const length of [10_000, 45_000]) {
      expect(heard(what, length), `${length} ms`).toEqual({
        early: undefined,
        isLate: true,
        after: undefined,
        changes: ["away", "back"]
      })
    }
  }
)
