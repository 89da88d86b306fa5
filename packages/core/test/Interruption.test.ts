import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { record } from "@skein/testing/RecordedEvents"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { none as nobody } from "effect/FiberId"
import * as TestClock from "effect/TestClock"
import { interleaved } from "./support/interleave.ts"
import { expectStill, root } from "./support/tree.ts"

const agents = [
  SkeinTest.agent("lead", { permission: { task: "allow" } }),
  SkeinTest.agent("worker", { steps: 4 })
]

const slow = SkeinTest.tool("slow", ({ ms }) => Effect.as(Effect.sleep(Number(ms)), "slept"), { effect: "never" })
const quick = SkeinTest.tool("quick", () => Effect.succeed("at once"))

/** Three levels: 1 root, 2 leads, 4 workers, with words, calls, retries and waits on all of them. */
const make = () => {
  const script = Scripted.make({
    build: [
      { text: "Let me see.", calls: [{ tool: "quick" }, { tool: "task", input: { description: "one", prompt: "p", subagent_type: "lead" } }, { tool: "task", input: { description: "two", prompt: "p", subagent_type: "lead" } }], delay: { first: 10 } },
      { text: "The end.", delay: { first: 10 } }
    ],
    lead: [
      { ...Scripted.tasks({ worker: "a" }, { worker: "b" }), delay: { connect: 5 } },
      { text: "lead is done", delay: { first: 20 } }
    ],
    worker: [
      { text: "I look", calls: [{ tool: "slow", input: { ms: 50 } }, { tool: "quick" }], delay: { first: 5, between: 7 }, pieces: 3 },
      Scripted.fault("server", {}, { text: "half a sen" }),
      { text: "worker is done", delay: { between: 100 }, pieces: 3 }
    ]
  })
  return { script, layer: SkeinTest.layer(script, { agents, tools: [slow, quick], config: { limits: { concurrency: 2 } } }) }
}

const afterwards = Effect.fnUntraced(function*(id: Parameters<typeof expectStill>[0], script: Scripted.Scripted) {
  yield* expectStill(id, script)
  const before = script.requests.length
  yield* TestClock.adjust("1 hour")
  expect(script.requests.length, "nothing wakes by itself").toBe(before)
  yield* expectStill(id, script)
  const again = yield* Effect.fork(Session.prompt(id, "Go on"))
  yield* TestClock.adjust("1 hour")
  expect((yield* again).text, "the session can be prompted again").toBe("The end.")
  yield* expectStill(id, script)
})

describe("a prompt that is interrupted", () => {
  it.effect("runs undisturbed", () => {
    const { layer, script } = make()
    return Effect.gen(function*() {
      const { id } = yield* root()
      const events = yield* record()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 hour")
      expect((yield* fiber).text).toBe("The end.")
      yield* expectStill(id, script)
      console.log(events.all.length)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("leaves nothing running, after whichever event", () =>
    Effect.gen(function*() {
      for (let k = 1;; k += 1) {
        const { layer, script } = make()
        const reached = yield* Effect.gen(function*() {
          const { id } = yield* root()
          const events = yield* record()
          const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
          const at = events.at(k)
          const driver = yield* Effect.fork(TestClock.adjust("10 minutes"))
          const exit = yield* Effect.exit(Effect.raceFirst(Effect.zipRight(at, Fiber.interrupt(fiber)), Fiber.join(fiber)))
          yield* Fiber.join(driver)
          if (events.all.length < k) return false
          yield* afterwards(id, script)
          return true
        }).pipe(Effect.scoped, Effect.provide(layer))
        if (!reached) return
      }
    }), 60_000)
})
