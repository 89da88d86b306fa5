import { describe, expect, it } from "@effect/vitest"
import { Governor } from "@skein/core/Governor"
import { Session } from "@skein/core/Session"
import { make, tasks } from "@skein/testing/ScriptedProvider"
import { agent, layer } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Supervisor from "effect/Supervisor"
import { callsMade, resultOf, root } from "./support/tree.ts"

/** Asks for some tasks of which one works; returns how many fibers there are meanwhile, and the results. */
const whileQueued = (count: number) => {
  const latch = Effect.unsafeMakeLatch()
  const script = make({
    build: [tasks(...Array.from({ length: count }, (_, i) => ({ worker: `part ${i}` }))), "Done."],
    worker: () => Effect.as(latch.await, "A result.")
  })
  return Effect.gen(function*() {
    const governor = yield* Governor
    const { id } = yield* root()
    const supervisor = yield* Supervisor.track
    const prompt = yield* Effect.fork(Effect.supervised(Session.prompt(id, "Begin"), supervisor))
    const isQueued = Effect.map(governor.load, ({ waiting }) => waiting === count - 1 && script.open.now === 1)
    while (!(yield* isQueued)) yield* Effect.yieldNow()
    // The fibers that led there end.
    for (let time = 0; time < 50; time++) yield* Effect.yieldNow()
    const fibers = (yield* supervisor.value).length
    yield* latch.open
    yield* Fiber.join(prompt)
    return { fibers, results: (yield* callsMade(id)).map(resultOf) }
  }).pipe(Effect.provide(layer(script, { agents: [agent("worker")], config: { limits: { concurrency: 1 } } })))
}

describe("calls that wait for subagents in the queue", () => {
  it.effect("have no fiber, however many they are, and all get their results", () =>
    Effect.gen(function*() {
      const few = yield* whileQueued(3)
      const many = yield* whileQueued(30)
      expect(few.fibers).toBeGreaterThan(0)
      expect(many.fibers).toBe(few.fibers)
      expect(many.results).toHaveLength(30)
      for (const result of many.results) expect(result).toContain("A result.")
    }))
})
