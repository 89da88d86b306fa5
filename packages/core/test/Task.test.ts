import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import * as Task from "@skein/core/Task"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"

const Point = Schema.Struct({ x: Schema.Number, y: Schema.Number })
const agents = [SkeinTest.agent("worker", { steps: 2 }), SkeinTest.agent("ghost", { hidden: true })]
const provide = (scripts: SkeinTest.Scripts) =>
  Effect.provide(SkeinTest.layer(scripts, { agents, tools: [SkeinTest.tool("look", () => Effect.succeed("seen"))] }))

describe("a task of a program", () => {
  it.effect("returns the conclusion as text, in its own tree", () =>
    Effect.gen(function*() {
      expect(yield* Task.run({ agent: "worker", prompt: "p" })).toBe("found")
    }).pipe(provide({ worker: [" found "] })))

  it.effect("returns a value of the requested schema", () =>
    Effect.gen(function*() {
      const point = yield* Task.run({ agent: "worker", prompt: "Where?", output: Point })
      expect(point.x + point.y).toBe(3)
    }).pipe(provide({ worker: [Scripted.call("final_answer", { answer: { x: 1, y: 2 } })] })))

  it.effect.each(
    [
      ["an answer without text", ["", ""], { _tag: "TaskEmpty", text: "" }],
      ["a model that refuses", [Scripted.fault("auth")], { _tag: "TaskFailed", cause: { tag: "auth" } }],
      [
        "the limit of steps",
        [Scripted.call("look", {}), "half of it"],
        {
          _tag: "BudgetExhausted",
          which: "steps",
          text: "half of it",
          message: "The agent worker reached its limit of 2 steps."
        }
      ]
    ] as const
  )("fails with a typed error at %s", ([, steps, error]) =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(Effect.flip(Task.run({ agent: "worker", prompt: "p" })))
      yield* TestClock.adjust("1 minute")
      const ended = yield* Fiber.join(fiber)
      expect(ended).toMatchObject(error)
      // The session of the task, and what it used, are in the error.
      const [session] = (yield* (yield* Session).list()).rows
      expect(ended).toMatchObject({ taskID: session?.id, usage: session?.usage.subtree })
    }).pipe(provide({ worker: steps })))

  it.effect.each(["ghost", "nobody"])("does not find hidden or unknown agents: %s", (agent) =>
    Effect.gen(function*() {
      expect(yield* Effect.flip(Task.run({ agent, prompt: "p" }))).toMatchObject({
        _tag: "TaskRefused",
        reason: "unknown_agent"
      })
    }).pipe(provide({})))

  it.effect("is stopped with all its requests when it loses a race", () => {
    const script = Scripted.make({
      worker: (request) => ({ text: "me", delay: { first: Scripted.lastText(request) === "quick" ? 1_000 : 60_000 } })
    })
    return Effect.gen(function*() {
      const race = yield* Effect.fork(
        Effect.raceAll(["slow", "quick", "slower"].map((prompt) => Task.run({ agent: "worker", prompt })))
      )
      yield* TestClock.adjust(999)
      expect(script.open.now).toBe(3)
      yield* TestClock.adjust(1)
      expect(yield* Fiber.join(race)).toBe("me")
      expect(script.open.now).toBe(0)
    }).pipe(provide(script))
  })

  it.effect("composes with timeout, retry and forEach", () => {
    const script = Scripted.make({
      worker: (request) => {
        const words = Scripted.lastText(request)
        if (words === "late") return { text: "too late", delay: { first: 60_000 } }
        return script.requests.length < 3 ? Scripted.fault("invalid_request") : { text: `did ${words}` }
      }
    })
    return Effect.gen(function*() {
      const task = (prompt: string) => Task.run({ agent: "worker", prompt })
      expect(yield* Effect.retry(task("again"), { times: 5 })).toBe("did again")
      expect(yield* Effect.forEach(["a", "b", "c"], task, { concurrency: 2 })).toEqual(["did a", "did b", "did c"])
      const late = yield* Effect.fork(Effect.exit(Effect.timeout(task("late"), "1 second")))
      yield* TestClock.adjust("1 second")
      expect(Exit.isFailure(yield* Fiber.join(late))).toBe(true)
      expect(script.open.now).toBe(0)
    }).pipe(provide(script))
  })
})
