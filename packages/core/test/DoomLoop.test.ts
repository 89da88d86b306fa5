import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { Tasks } from "@skein/core/Tasks"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { callsMade, childrenOf, expectStill, resultOf, root } from "./support/tree.ts"

const echo = SkeinTest.tool("echo", ({ words }) => Effect.succeed(`said ${String(words)}`))
const slow = SkeinTest.tool("slow", ({ ms }) => Effect.as(Effect.sleep(Number(ms)), "waited"))
const say = (words: string) => Scripted.call("echo", { words })
const provide = (script: Scripted.Scripted) =>
  Effect.provide(SkeinTest.layer(script, { tools: [echo, slow], agents: [SkeinTest.agent("worker")] }))

/** Prompts an agent that follows the script, and returns the result of each call. */
const run = (steps: ReadonlyArray<Scripted.ScriptedStep | string>, prompts = 1) => {
  const script = Scripted.make({ build: [...steps, "done"] })
  return Effect.gen(function*() {
    const { id } = yield* root()
    let end = ""
    for (let i = 0; i < prompts; i++) end = (yield* Session.prompt(id, `Go ${i}`)).end
    return { end, calls: (yield* callsMade(id)).map(resultOf) }
  }).pipe(provide(script))
}

const looped = expect.stringContaining("doom_loop")

describe("loop detection", () => {
  it.effect.each([1, 2, 3, 4])("stops the third repetition of a cycle of %i", (length) =>
    Effect.gen(function*() {
      const cycle = ["a", "b", "c", "d"].slice(0, length)
      const words = [...cycle, ...cycle, ...cycle]
      const { calls, end } = yield* run([...words, ...cycle].map(say))
      expect(calls).toEqual([...words.slice(0, -1).map((each) => `said ${each}`), looped])
      expect(end).toBe("denied")
    }))

  it.effect("lets an agent repeat a longer sequence", () =>
    Effect.gen(function*() {
      const cycle = ["a", "b", "c", "d", "e"].map(say)
      expect((yield* run([...cycle, ...cycle, ...cycle])).end).toBe("completed")
    }))

  it.effect("lets an agent make progress between two equal rounds", () =>
    Effect.gen(function*() {
      const words = ["a", "b", "a", "b", "c", "a", "b"]
      expect((yield* run(words.map(say))).calls).toEqual(words.map((each) => `said ${each}`))
    }))

  it.effect("counts equal calls of one answer once: no result was read between them", () =>
    Effect.gen(function*() {
      const votes = Scripted.call("echo", { words: "a" }, { words: "a" }, { words: "a" })
      const { calls, end } = yield* run([votes, votes])
      expect({ calls, end }).toEqual({ calls: Array.from({ length: 6 }, () => "said a"), end: "completed" })
      const third = yield* run([votes, votes, votes])
      expect(third.calls.slice(6)).toEqual([looped, looped, looped])
      expect(third.end).toBe("denied")
    }))

  it.effect("lets a caller ask several subagents the same in one answer", () => {
    const vote = { description: "vote", prompt: "Which?", subagent_type: "worker" }
    const script = Scripted.make({
      build: [Scripted.call("task", vote, vote, vote, vote), "counted"],
      worker: ["this"]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const { end, text } = yield* Session.prompt(id, "Go")
      expect({ end, text }).toEqual({ end: "completed", text: "counted" })
      expect((yield* callsMade(id)).map(resultOf)).toEqual(
        Array.from({ length: 4 }, () => expect.stringContaining("this"))
      )
    }).pipe(provide(script))
  })

  it.effect("ignores calls that poll tasks in between", () =>
    Effect.gen(function*() {
      const poll = [Scripted.call("task_status", {}), Scripted.call("task_wait", {})]
      const { calls } = yield* run([say("a"), ...poll, say("a"), ...poll, say("a")])
      expect(calls[6]).toEqual(looped)
    }))

  it.effect("restarts with each message of the user", () =>
    Effect.gen(function*() {
      const { calls, end } = yield* run(Array.from({ length: 5 }, () => [say("a"), say("a"), "so far"]).flat(), 5)
      expect(calls).toEqual(Array.from({ length: 10 }, () => "said a"))
      expect(end).toBe("completed")
    }))

  it.effect("continues when a background task reports", () => {
    const background = { description: "d", prompt: "p", subagent_type: "worker", background: true }
    const script = Scripted.make({
      build: [Scripted.call("task", background), say("a"), say("a"), "waiting", say("a"), "done"],
      worker: [Scripted.call("slow", { ms: 1_000 }), "found"]
    })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      yield* TestClock.adjust("1 minute")
      yield* session.untilIdle(id)
      expect((yield* callsMade(id)).map(resultOf).slice(1)).toEqual(["said a", "said a", looped])
      yield* expectStill(id, script)
    }).pipe(provide(script))
  })
})

describe("loop detection in a subagent", () => {
  /** A worker that makes the same slow call four times; the message arrives during the first. */
  const work = (byUser: boolean) => {
    const background = { description: "d", prompt: "p", subagent_type: "worker", background: true }
    const wait = Scripted.call("slow", { ms: 5_000 })
    const script = Scripted.make({
      build: (request) => {
        const [id] = /ses_\w+/.exec(JSON.stringify(request.messages.filter(({ role }) => role === "tool"))) ?? []
        const steps = [
          Scripted.call("task", background),
          Scripted.call("slow", { ms: 6_000 }),
          byUser ? "waiting" : Scripted.call("task_message", { task_id: id, message: "again" })
        ]
        return steps[request.origin.step] ?? "done"
      },
      worker: [wait, wait, wait, wait, "done"]
    })
    return Effect.gen(function*() {
      const session = yield* Session
      const tasks = yield* Tasks
      const { id } = yield* root()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("7 seconds")
      yield* Fiber.join(fiber)
      const [child] = yield* childrenOf(id)
      if (byUser) yield* tasks.message({ parentID: id, taskID: child!.id }, "again")
      yield* TestClock.adjust("1 minute")
      yield* session.untilIdle(id)
      return (yield* callsMade(child!.id)).map(resultOf)
    }).pipe(provide(script))
  }

  it.effect("continues after a message of the agent above", () =>
    Effect.map(work(false), (calls) => expect(calls).toEqual(["waited", "waited", looped])))

  it.effect("restarts with a message of the user", () =>
    Effect.map(work(true), (calls) => expect(calls).toEqual(["waited", "waited", "waited", "waited"])))
})
