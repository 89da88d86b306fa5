import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { root } from "./support/tree.ts"

const run = (seed: number) => {
  const scripts = {
    build: [Scripted.tasks({ worker: "a" }, { worker: "b" }), Scripted.fault("server"), "the end"],
    worker: [{ text: "found", delay: { first: 20 } }]
  }
  return simulate(
    Effect.gen(function*() {
      const events = yield* record()
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      const storage = yield* SessionStorage
      return JSON.stringify([events.all, yield* storage.events({ after: 0 }), yield* storage.messages(id)])
    }).pipe(Effect.scoped, Effect.provide(SkeinTest.layer(scripts, { agents: [SkeinTest.agent("worker")] }))),
    { seed }
  )
}

it("a tree of agents repeats exactly with the same seed and clock, including ids", () => {
  expect(run(1)).toBe(run(1))
  expect(run(1)).not.toBe(run(2))
})
