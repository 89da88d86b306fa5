import { describe, expect, it } from "@effect/vitest"
import type { ModelRequest } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { Tasks } from "@skein/core/Tasks"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { seeds } from "@skein/testing/Seeds"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { callsMade, childrenOf, expectStill, messagesOf, outcomeOf, resultOf, root } from "./support/tree.ts"

const agents = [SkeinTest.agent("worker"), SkeinTest.agent("lead", { permission: { task: "allow" } })]
const slow = SkeinTest.tool("slow", ({ ms }) => Effect.as(Effect.sleep(Number(ms)), "waited"))
const provide = (scripts: SkeinTest.Scripts) => Effect.provide(SkeinTest.layer(scripts, { agents, tools: [slow] }))
const background = (prompt: string) => ({ description: "d", prompt, subagent_type: "worker", background: true })
const untilIdle = (id: SessionID) => Effect.flatMap(Session, (session) => session.untilIdle(id))
const newsOf = (id: SessionID) =>
  Effect.map(
    messagesOf(id),
    (messages) =>
      messages.flatMap(({ info, parts }) =>
        info.role === "user"
          ? parts.flatMap((part) => part.type === "text" && part.synthetic === true ? [part.text] : [])
          : []
      )
  )

/** A script whose steps may read their requests. */
const inTurn = (
  ...steps: ReadonlyArray<Scripted.ScriptedStep | ((request: ModelRequest) => Scripted.ScriptedStep)>
) => {
  let at = 0
  return (request: ModelRequest): Scripted.ScriptedStep => {
    const step = steps[at++] ?? { text: "there is no step left" }
    return typeof step === "function" ? step(request) : step
  }
}

/** A root session whose worker has worked in the background for a second. */
const begun = Effect.fnUntraced(function*() {
  const { id } = yield* root()
  yield* Session.prompt(id, "Go")
  yield* TestClock.adjust("1 second")
  const [child] = yield* childrenOf(id)
  return { id, child: child!.id, name: { parentID: id, taskID: child!.id } }
})

describe("the status of tasks", () => {
  it.effect("says what each does, since when, and its usage", () => {
    const script = Scripted.make({
      build: [Scripted.call("task", background("p")), "begun"],
      worker: [Scripted.call("slow", { ms: 60_000 }), "done"]
    })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const { child, id, name } = yield* begun()
      expect(yield* tasks.status({ parentID: id })).toMatchObject([{
        taskID: child,
        agent: "worker",
        state: "running",
        background: true,
        doing: "runs slow slow",
        elapsedMs: 1_000,
        lastTool: "slow",
        usage: { steps: 1, toolCalls: 1 }
      }])
      yield* TestClock.adjust("2 minutes")
      expect(yield* tasks.status(name)).toMatchObject([{ state: "settled", doing: "completed", elapsedMs: 60_000 }])
    }).pipe(provide(script))
  })
})

describe("a message to a task", () => {
  it.effect("is read at its next step while it works", () => {
    const script = Scripted.make({
      build: [Scripted.call("task", background("p")), "begun", "noted"],
      worker: inTurn(
        Scripted.call("slow", { ms: 5_000 }),
        (request) => ({ text: `got: ${Scripted.lastText(request)}` })
      )
    })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const { id, name } = yield* begun()
      expect(yield* tasks.message(name, "look left")).toBe("steered")
      yield* TestClock.adjust("1 minute")
      yield* untilIdle(id)
      expect((yield* newsOf(id))[0]).toContain("\nResult:\ngot: look left\n")
      yield* expectStill(id, script)
    }).pipe(provide(script))
  })

  it.effect("starts a new run if it has finished", () => {
    const script = Scripted.make({
      build: [Scripted.call("task", background("p")), "begun", "noted", "noted again"],
      worker: inTurn({ text: "first" }, (request) => ({ text: `second: ${Scripted.lastText(request)}` }))
    })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const { child, id, name } = yield* begun()
      yield* untilIdle(id)
      expect(yield* tasks.message(name, "and more")).toMatchObject({ status: "accepted", taskID: child })
      yield* untilIdle(id)
      expect((yield* newsOf(id)).map((news) => /Result:\n(.*)/.exec(news)?.[1])).toEqual(["first", "second: and more"])
      yield* expectStill(id, script)
    }).pipe(provide(script))
  })

  it("is never lost, whenever it arrives", () => {
    for (const seed of seeds(1, 60)) {
      const prompts: Array<string> = []
      const script = Scripted.make({
        build: (request) => request.messages.length > 2 ? { text: "ok" } : Scripted.call("task", background("p")),
        worker: (request) => {
          prompts.push(JSON.stringify(request.messages))
          return { text: "done", delay: { first: 10, between: 3 }, pieces: 3 }
        }
      })
      const program = Effect.gen(function*() {
        const tasks = yield* Tasks
        const { id } = yield* root()
        yield* Session.prompt(id, "Go")
        const [child] = yield* childrenOf(id)
        yield* Effect.sleep(seed % 30)
        yield* tasks.message({ parentID: id, taskID: child!.id }, "remember this")
        yield* untilIdle(id)
        yield* expectStill(id, script)
        expect(prompts.at(-1), `seed ${seed}`).toContain("remember this")
      })
      simulate(Effect.provide(program, SkeinTest.layer(script, { agents })), { seed })
    }
  })

  it.effect("does not let a model continue an agent that only a user may start", () => {
    const script = Scripted.make({ build: ["made"], plan: ["planned", "planned more"] })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const { id } = yield* root()
      const run = yield* Effect.flatMap(
        tasks.run({ parentID: id, agent: "plan", description: "Plan", prompt: "Plan it", byUser: true }),
        outcomeOf
      )
      const name = { parentID: id, taskID: run.taskID }
      expect(yield* Effect.flip(tasks.message({ ...name, byUser: false }, "more"))).toMatchObject({
        _tag: "TaskRefused",
        reason: "unknown_agent"
      })
      expect(script.requests).toHaveLength(1)
      expect(yield* tasks.message(name, "more")).toMatchObject({ status: "accepted" })
      yield* untilIdle(id)
      expect(script.requests.filter(({ origin }) => origin.path.at(-1) === "plan")).toHaveLength(2)
      yield* expectStill(id, script)
    }).pipe(provide(script))
  })

  it.effect.each(["", "  "])("must not be empty: %j", (message) => {
    const script = Scripted.make({
      build: [Scripted.call("task", background("p")), "begun", "noted"],
      worker: ["done"]
    })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const { name } = yield* begun()
      expect(yield* Effect.flip(tasks.message(name, message))).toMatchObject({
        _tag: "TaskRefused",
        reason: "bad_message"
      })
    }).pipe(provide(script))
  })
})

describe("a stop of a task", () => {
  it.effect("interrupts its work, lets it conclude in one step without tools, and returns its partial result", () => {
    const script = Scripted.make({
      build: [Scripted.call("task", background("p")), "begun", "noted"],
      worker: inTurn(Scripted.call("slow", { ms: 60_000 }), (request) => {
        expect(request.tools).toEqual([])
        return { text: `I have half of it. ${Scripted.lastText(request).slice(0, 35)}`, delay: { first: 2_000 } }
      })
    })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const { child, id, name } = yield* begun()
      const stopping = yield* Effect.fork(tasks.stop(name, { by: "its caller", reason: "too slow" }))
      yield* TestClock.adjust("3 seconds")
      expect(yield* Fiber.join(stopping)).toMatchObject([{
        status: "stopped",
        by: "its caller: too slow",
        text: "I have half of it. You are asked to stop: too slow. No"
      }])
      const [call] = yield* callsMade(child)
      expect(call?.state.status).toBe("error")
      yield* untilIdle(id)
      yield* expectStill(id, script)
      expect(yield* tasks.stop(name, { by: "its caller" })).toEqual([])
    }).pipe(provide(script))
  })

  it.effect("ends it after 30 seconds if it does not conclude", () => {
    const script = Scripted.make({
      build: [Scripted.call("task", background("p")), "begun", "noted"],
      worker: [{ text: "so far", hangs: true }, { text: "never", hangs: true }]
    })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const { id, name } = yield* begun()
      const stopping = yield* Effect.fork(
        Effect.zip(tasks.stop(name, { by: "its caller" }), Clock.currentTimeMillis)
      )
      yield* TestClock.adjust("1 minute")
      const [outcomes, at] = yield* Fiber.join(stopping)
      expect(outcomes).toMatchObject([{ status: "stopped", by: "its caller" }])
      expect(at).toBe(31_000)
      yield* untilIdle(id)
      yield* expectStill(id, script)
    }).pipe(provide(script))
  })
})

describe("waiting for tasks", () => {
  const two = () =>
    Scripted.make({
      build: [{ calls: ["a", "b"].map((prompt) => ({ tool: "task", input: background(prompt) })) }, "begun"],
      worker: (request) => {
        const words = Scripted.lastText(request)
        return { text: `did ${words}`, delay: { first: words === "a" ? 5_000 : 50_000 } }
      }
    })

  it.effect("ends with all of them, with the first, or at the timeout", () => {
    const script = two()
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const { id } = yield* begun()
      const [all, any, some] = yield* Effect.all([
        Effect.fork(tasks.wait({ parentID: id })),
        Effect.fork(tasks.wait({ parentID: id, mode: "any" })),
        Effect.fork(tasks.wait({ parentID: id, timeout: 10_000 }))
      ])
      yield* TestClock.adjust("1 minute")
      const texts = (fiber: typeof all) =>
        Effect.map(
          Fiber.join(fiber),
          ({ pending, settled }) => [settled.map(({ text }) => text).toSorted(), pending.length]
        )
      expect(yield* texts(all)).toEqual([["did a", "did b"], 0])
      expect(yield* texts(any)).toEqual([["did a"], 1])
      expect(yield* texts(some)).toEqual([["did a"], 1])
    }).pipe(provide(script))
  })

  it.effect("reports each result once: an awaited one does not arrive again", () => {
    const script = Scripted.make({
      build: [
        Scripted.call("task", background("p")),
        Scripted.call("task_wait", { mode: "all" }),
        "I have the result."
      ],
      worker: [{ text: "the result", delay: { first: 5_000 } }]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const turn = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 hour")
      expect((yield* Fiber.join(turn)).text).toBe("I have the result.")
      expect((yield* untilIdle(id))?.text).toBe("I have the result.")
      expect(resultOf((yield* callsMade(id))[1]!)).toContain("<task_result>\nthe result\n</task_result>")
      expect(yield* newsOf(id)).toEqual([])
      yield* expectStill(id, script)
    }).pipe(provide(script))
  })
})

describe("the tools", () => {
  it.effect.each(
    [
      ["task_status", { task_id: "ses_01aaaaaaaa0000aaaaaaaa" }],
      ["task_status", { task_id: "nonsense" }],
      ["task_message", { task_id: "nonsense", message: "x" }],
      ["task_stop", { task_id: "nonsense" }],
      ["task_wait", { task_ids: ["nonsense"] }]
    ] as const
  )("refuse an unknown task: %s %j", ([tool, input]) => {
    const script = Scripted.make({ build: [Scripted.call(tool, input), "done"] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      const [call] = yield* callsMade(id)
      expect(call?.state.status).toBe("error")
      expect(resultOf(call!)).toContain("Task not found")
    }).pipe(provide(script))
  })

  it.effect("refuse the session itself, and the children of others", () => {
    const script = Scripted.make({
      build: (request) =>
        request.messages.at(-1)?.role === "user"
          ? Scripted.call("task_stop", { task_id: Scripted.lastText(request) })
          : { text: "done" },
      worker: ["done"]
    })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const { id } = yield* root()
      const other = yield* root()
      yield* tasks.run({ parentID: other.id, agent: "worker", description: "d", prompt: "p", byUser: true })
      const [stranger] = yield* childrenOf(other.id)
      for (const each of [id, other.id, stranger!.id]) {
        yield* Session.prompt(id, each)
        expect(resultOf((yield* callsMade(id)).at(-1)!)).toContain("is not a child of this session")
      }
    }).pipe(provide(script))
  })
})
