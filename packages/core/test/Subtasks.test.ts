import { describe, expect, it } from "@effect/vitest"
import { type Hook, on } from "@skein/core/Hooks"
import { Session } from "@skein/core/Session"
import type { SubtaskPart } from "@skein/domain/Part"
import type { PermissionConfig } from "@skein/domain/Rule"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as TestClock from "effect/TestClock"
import { callsMade, callsOf, childrenOf, expectStill, messagesOf, resultOf, root } from "./support/tree.ts"

type Subtask = Omit<SubtaskPart, "id" | "sessionID" | "messageID">

const subtask = (description: string, more: Partial<Subtask> = {}): Subtask => ({
  type: "subtask",
  prompt: `do ${description}`,
  description,
  agent: "worker",
  ...more
})

const agents = [
  SkeinTest.agent("worker"),
  SkeinTest.agent("main", { mode: "primary" }),
  SkeinTest.agent("secret", { hidden: true })
]

/** Runs a prompt of subtasks; each worker answers after the milliseconds in its prompt. */
const run = Effect.fnUntraced(
  function*(
    parts: ReadonlyArray<Subtask>,
    rules: PermissionConfig = {},
    build: Scripted.Script = ["summed up"],
    hooks: ReadonlyArray<Hook> = []
  ) {
    const script = Scripted.make({
      build,
      main: ["main did it"],
      worker: (request) => {
        const words = Scripted.lastText(request)
        if (words.includes("fail")) return Scripted.fault("auth", { message: "no way" })
        return { text: `did: ${words}`, delay: { first: Number(/\d+/.exec(words)?.[0] ?? 0) } }
      }
    })
    return yield* Effect.gen(function*() {
      const { id } = yield* root()
      const events = yield* record()
      const fiber = yield* Effect.fork(Session.prompt(id, parts))
      yield* TestClock.adjust("1 hour")
      const turn = yield* Fiber.join(fiber)
      const all = yield* messagesOf(id)
      yield* expectStill(id, script)
      return { id, turn, events, script, messages: all, calls: callsOf(all), children: yield* childrenOf(id) }
    }).pipe(Effect.scoped, Effect.provide(SkeinTest.layer(script, { agents, rules, hooks })))
  }
)

describe("subtask parts", () => {
  it.effect("run before the model is asked, as calls of the task tool", () =>
    Effect.gen(function*() {
      const { calls, children, messages, script, turn } = yield* run([subtask("one 50")])
      expect(turn.text).toBe("summed up")
      expect(messages.map(({ info }) => [info.role, info.agent])).toEqual([
        ["user", "build"],
        ["assistant", "worker"],
        ["assistant", "build"]
      ])
      expect(messages[1]?.info).toMatchObject({ finish: "tool-calls", time: { completed: expect.any(Number) } })
      const taskID = children[0]?.id
      expect(calls.map(resultOf)).toEqual([
        `task_id: ${taskID} (for resuming to continue this task if needed)\n\n<task_result>\ndid: do one 50\n</task_result>`
      ])
      expect(calls[0]?.state.input).toEqual({ prompt: "do one 50", description: "one 50", subagent_type: "worker" })
      expect(script.requests.map((request) => request.origin.path.join("/"))).toEqual(["build/worker", "build"])
      expect(JSON.stringify(script.requests[1]?.messages)).toContain("did: do one 50")
    }))

  it.effect("keep their answers open until they have ended", () =>
    Effect.gen(function*() {
      const { calls, events, messages } = yield* run([subtask("a 300"), subtask("b 100"), subtask("will fail")])
      const made = messages.filter(({ info }) => info.role === "assistant" && info.agent === "worker")
      const ends = made.map(({ info }) => [info.role === "assistant" && info.finish, info.time])
      expect(ends.map(([finish]) => finish)).toEqual(["tool-calls", "tool-calls", "tool-calls"])
      expect(ends.slice(0, 2).map(([, time]) => time)).toEqual([
        { created: 0, completed: 300 },
        { created: 0, completed: 100 }
      ])
      const id = made[0]?.info.id
      const stored = events.of("message.updated").map(({ properties: { info } }) => info).filter((info) =>
        info.id === id
      )
      expect(stored).toMatchObject([{ time: { created: 0 } }, { finish: "tool-calls", time: { completed: 300 } }])
      expect(stored[0]).not.toHaveProperty("finish")
      expect(stored[0]?.time).not.toHaveProperty("completed")
      expect(calls.map(({ state }) => state.status)).toEqual(["completed", "completed", "error"])
    }))

  it.effect("that are stopped end their answers, which name the directory and the root of the project", () =>
    Effect.gen(function*() {
      const script = Scripted.make({ worker: [{ text: "never", delay: { first: 60_000 } }] })
      yield* Effect.gen(function*() {
        const { id } = yield* Session.create({ directory: "/repo/packages/a", projectID: "/repo" })
        const fiber = yield* Effect.fork(Session.prompt(id, [subtask("a")]))
        yield* TestClock.adjust("1 second")
        yield* Fiber.interrupt(fiber)
        const [, made] = yield* messagesOf(id)
        expect(made?.info).toMatchObject({
          finish: "tool-calls",
          path: { cwd: "/repo/packages/a", root: "/repo" },
          time: { created: 0, completed: 1_000 }
        })
        expect(made?.info).not.toHaveProperty("error")
        expect(callsOf([made!])[0]?.state.status).toBe("error")
      }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
    }))

  it.effect("run in parallel, each in its own answer, in their order", () =>
    Effect.gen(function*() {
      const { calls, events, messages } = yield* run([subtask("a 300"), subtask("b 100"), subtask("c 200")])
      expect(messages.map(({ parts }) => callsOf([{ info: messages[0]!.info, parts }]).length)).toEqual([0, 1, 1, 1, 0])
      expect(calls.map((call) => call.state.status === "completed" && call.state.title)).toEqual([
        "a 300",
        "b 100",
        "c 200"
      ])
      expect(calls.map((call) => call.state.status === "completed" && call.state.time)).toEqual([
        { start: 0, end: 300 },
        { start: 0, end: 100 },
        { start: 0, end: 200 }
      ])
      expect(events.of("subagent.completed").map((event) => event.properties.description)).toEqual([
        "b 100",
        "c 200",
        "a 300"
      ])
    }))

  it.effect("that fail stop neither the others nor the model", () =>
    Effect.gen(function*() {
      const { calls, turn } = yield* run([
        subtask("ok 1"),
        subtask("will fail"),
        subtask("who", { agent: "nobody" }),
        subtask("hush", { agent: "secret" }),
        subtask("", { prompt: "p" }),
        subtask("ok 2")
      ])
      expect(calls.map(({ state }) => state.status === "error" ? state.error.tag : state.status)).toEqual([
        "completed",
        "task",
        "unknown_agent",
        "unknown_agent",
        "invalid_arguments",
        "completed"
      ])
      expect(calls.slice(1, 5).map(resultOf)).toEqual([
        expect.stringContaining("state: failed\n\n<task_error>\nno way\n</task_error>"),
        "Tool execution failed: Unknown agent type: nobody is not a valid agent type",
        "Tool execution failed: Unknown agent type: secret is not a valid agent type",
        "Tool execution failed: task.description must be a non-empty string"
      ])
      expect(turn.text).toBe("summed up")
    }))

  it.effect("of a command are followed by one synthetic message, after all of them", () =>
    Effect.gen(function*() {
      const { messages, script } = yield* run([subtask("a 20", { command: "review" }), subtask("b 10")])
      expect(messages.map(({ info }) => info.role)).toEqual(["user", "assistant", "assistant", "user", "assistant"])
      expect(messages[3]).toMatchObject({
        info: { role: "user", agent: "build" },
        parts: [{
          type: "text",
          synthetic: true,
          text: "Summarize the task tool output above and continue with your task."
        }]
      })
      expect(Scripted.lastText(script.requests.at(-1)!)).toContain("Summarize the task tool output above")
    }))

  it.effect("without a command are followed by none", () =>
    Effect.gen(function*() {
      const { messages } = yield* run([subtask("a 1")])
      expect(messages.filter(({ info }) => info.role === "user")).toHaveLength(1)
    }))

  it.effect("may name primary agents, because the user requests them", () =>
    Effect.gen(function*() {
      const { calls } = yield* run([subtask("x", { agent: "main" })])
      expect(calls.map(resultOf)[0]).toContain("main did it")
    }))

  it.effect("need no further consent of the user, but what is denied stays denied", () =>
    Effect.gen(function*() {
      const asked = yield* run([subtask("a 1")], { task: "ask" })
      expect(asked.calls[0]?.state.status).toBe("completed")
      expect(asked.events.of("permission.asked")).toEqual([])
      const denied = yield* run([subtask("a 1")], { task: { "*": "allow", worker: "deny" } })
      expect(denied.calls.map(resultOf)).toEqual([expect.stringMatching(/^Tool execution failed: Permission denied/)])
      expect(denied.children).toEqual([])
      const blocked = yield* run([subtask("a 1")], {}, ["summed up"], [
        on("PreToolUse", () => Effect.succeed({ decision: "deny", reason: "not now" } as const), { name: "guard" })
      ])
      expect(blocked.calls.map(resultOf)).toEqual([
        "Tool execution failed: The call was blocked by a hook (guard): not now"
      ])
    }))

  it.effect("that fail are logged once, with agent, description and reason", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const logger = Logger.map(Logger.logfmtLogger, (line) => void lines.push(line))
      yield* run([subtask("will fail"), subtask("who", { agent: "nobody" }), subtask("ok 1")]).pipe(
        Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
        Logger.withMinimumLogLevel(LogLevel.All)
      )
      const shown = lines.filter((line) => !/level=(DEBUG|TRACE)/.test(line) || line.includes("unhandled"))
      expect(shown).toEqual([
        expect.stringMatching(
          /level=WARN .*"subtask execution failed".*no way.*description="will fail".*agent=worker/s
        ),
        expect.stringMatching(
          /level=WARN .*"subtask execution failed".*Unknown agent type: nobody.*description=who.*agent=nobody/
        )
      ])
    }))

  it.effect("use the model that they name", () =>
    Effect.gen(function*() {
      const { calls, children } = yield* run([
        subtask("a 1", { model: { providerID: "scripted", modelID: "model" } }),
        subtask("b 1", { model: { providerID: "no", modelID: "such" } })
      ])
      expect(children[0]?.model).toEqual({ providerID: "scripted", modelID: "model" })
      expect(calls.map(resultOf)[1]).toContain("There is no model no/such here")
    }))

  it.effect("with text: the model is asked with both", () =>
    Effect.gen(function*() {
      const script = Scripted.make({ build: ["ok"], worker: ["found"] })
      yield* Effect.gen(function*() {
        const { id } = yield* root()
        yield* Session.prompt(id, [{ type: "text", text: "And then?" }, subtask("a")])
        const texts = script.requests.at(-1)?.messages.find((message) => message.role === "user")
        expect(texts?.content).toEqual([
          { type: "text", text: "And then?" },
          { type: "text", text: "The user started the subagent worker: a" }
        ])
        expect((yield* callsMade(id)).map(resultOf)[0]).toContain("found")
      }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
    }))

  it.effect("that wait for a slot run one after the other", () =>
    Effect.gen(function*() {
      const script = Scripted.make({ build: ["ok"], worker: [{ text: "found", delay: { first: 100 } }] })
      yield* Effect.gen(function*() {
        const { id } = yield* root()
        const fiber = yield* Effect.fork(Session.prompt(id, [subtask("a"), subtask("b"), subtask("c")]))
        yield* TestClock.adjust("1 minute")
        yield* Fiber.join(fiber)
        expect(script.open.most).toBe(1)
        expect((yield* callsMade(id)).every(({ state }) => state.status === "completed")).toBe(true)
      }).pipe(Effect.provide(SkeinTest.layer(script, { agents, config: { limits: { concurrency: 1 } } })))
    }))
})
