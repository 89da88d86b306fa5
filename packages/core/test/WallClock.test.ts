import { describe, expect, it } from "@effect/vitest"
import { Budget } from "@skein/core/Budget"
import { now } from "@skein/core/MonotonicClock"
import { Session } from "@skein/core/Session"
import { Tasks } from "@skein/core/Tasks"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { messagesOf, root } from "./support/tree.ts"
import { settableClock } from "./support/wallClock.ts"

const hour = 3_600_000
const agents = [SkeinTest.agent("worker")]
const slow = SkeinTest.tool("slow", () => Effect.as(Effect.sleep("6 seconds"), "done"))

/** Runs a program, sets the wall clock after the first second, and returns the result and the time until then. */
const withJump = <A, E>(
  by: number,
  scripts: SkeinTest.Scripts,
  program: Effect.Effect<A, E, Session | Tasks | Budget>,
  options: SkeinTest.SkeinTestOptions = {}
) =>
  Effect.gen(function*() {
    const { clock, jump } = yield* settableClock
    const timed = Effect.gen(function*() {
      const began = yield* now
      const exit = yield* Effect.either(program)
      return { exit, after: (yield* now) - began }
    })
    const fiber = yield* timed.pipe(
      Effect.provide(SkeinTest.layer(scripts, { agents, tools: [slow], ...options })),
      Effect.withClock(clock),
      Effect.fork
    )
    yield* TestClock.adjust("1 second")
    jump(by)
    yield* TestClock.adjust("45 seconds")
    yield* TestClock.adjust("45 seconds")
    const end = yield* Fiber.poll(fiber)
    expect(end._tag, "it has ended").toBe("Some")
    return yield* Fiber.join(fiber)
  })

const asked = Effect.flatMap(root(), ({ id }) => Session.prompt(id, "Go"))

const task = (timeout?: number) =>
  Effect.gen(function*() {
    const { id } = yield* root()
    const request = { parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true }
    return yield* Effect.flatMap(Tasks, (tasks) => tasks.run(timeout === undefined ? request : { ...request, timeout }))
  })

const calls = Scripted.call("slow", {})

describe.each([["back", -hour], ["forward", hour]])("a wall clock that is set %s by an hour", (_, by) => {
  it.effect("changes no deadline of a stream", () =>
    Effect.gen(function*() {
      const config = { deadlines: { idle: 3_000 }, retry: { attempts: 1 } }
      const { after, exit } = yield* withJump(by, { build: [{ text: "looking", hangs: true }] }, asked, { config })
      expect(exit).toMatchObject({ left: { reason: "timeout" } })
      expect(after).toBe(3_000)
    }))

  it.effect("changes no pause that a provider requested", () =>
    Effect.gen(function*() {
      const busy = Scripted.fault("rate_limit", { retryAfter: 3_000 })
      const { after, exit } = yield* withJump(by, { build: [busy, Scripted.text("well")] }, asked)
      expect(exit).toMatchObject({ right: { text: "well" } })
      expect(after).toBeGreaterThanOrEqual(3_000)
      expect(after).toBeLessThan(3_500)
    }))

  it.effect("changes no timeout of a task", () =>
    Effect.gen(function*() {
      const { after, exit } = yield* withJump(by, { worker: [{ text: "looking", hangs: true }] }, task(5_000))
      expect(exit).toMatchObject({ right: { status: "timed_out", which: "timeout", durationMs: 5_000 } })
      expect(after).toBe(5_000)
    }))

  it.effect("changes no timeout of a task that waits for its slot", () =>
    Effect.gen(function*() {
      const both = Effect.all([task(), task(5_000)], { concurrency: 2 })
      const { exit } = yield* withJump(by, { worker: [calls, Scripted.text("well")] }, both, {
        config: { limits: { concurrency: 1 } }
      })
      expect(exit).toMatchObject({ right: [{ status: "completed" }, { status: "timed_out", durationMs: 5_000 }] })
    }))

  it.effect("ends no task too early, and is not counted as its time", () =>
    Effect.gen(function*() {
      const { exit } = yield* withJump(by, { worker: [calls, Scripted.text("well")] }, task(20_000))
      expect(exit).toMatchObject({ right: { status: "completed", durationMs: 6_000 } })
    }))

  it.effect("is not reported to a model as the time of a task", () =>
    Effect.gen(function*() {
      const { exit } = yield* withJump(
        by,
        { build: [Scripted.text("end")], worker: [calls, Scripted.text("well")] },
        Effect.gen(function*() {
          const tasks = yield* Tasks
          const { id } = yield* root()
          const request = { parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true }
          yield* tasks.run({ ...request, background: true })
          const [status] = yield* Effect.delay(tasks.status({ parentID: id }), "2 seconds")
          yield* tasks.wait({ parentID: id })
          yield* Session.prompt(id, "And?")
          const texts = (yield* messagesOf(id)).flatMap(({ parts }) => parts)
            .flatMap((part) => part.type === "text" ? [part.text] : [])
          return { elapsed: status?.elapsedMs, text: texts.join("\n") }
        })
      )
      expect(exit).toMatchObject({
        right: { elapsed: 2_000, text: expect.stringContaining("Execution Time: 6000ms") }
      })
    }))

  it.effect("is not counted as time of a budget", () =>
    Effect.gen(function*() {
      const { exit } = yield* withJump(
        by,
        { build: [calls, Scripted.text("well")] },
        Effect.gen(function*() {
          const { id } = yield* root({ budget: { time: 60_000 } })
          const { text } = yield* Session.prompt(id, "Go")
          const [account] = yield* Effect.flatMap(Budget, (budget) => budget.of(id))
          return { text, time: account?.spent.time }
        })
      )
      expect(exit).toMatchObject({ right: { text: "well", time: 6_000 } })
    }))
})
