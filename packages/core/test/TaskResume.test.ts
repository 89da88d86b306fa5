import { describe, expect, it } from "@effect/vitest"
import { Provider } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { type TaskRequest, Tasks } from "@skein/core/Tasks"
import type { SessionID } from "@skein/domain/Id"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { callsMade, childrenOf, expectStill, messagesOf, outcomeOf, resultOf, root, treeOf } from "./support/tree.ts"

const worker = SkeinTest.agent("worker")
const agents = [worker, SkeinTest.agent("lead", { permission: { task: "allow" } })]

const resume = (id: string, prompt: string, more: Readonly<Record<string, unknown>> = {}) => ({
  calls: [{ tool: "task", input: { description: "again", prompt, subagent_type: "worker", task_id: id, ...more } }]
})

const run = (request: Partial<TaskRequest> & { readonly parentID: SessionID }) =>
  Effect.flatMap(
    Tasks,
    (tasks) =>
      Effect.flatMap(tasks.run({ agent: "worker", description: "d", prompt: "p", byUser: true, ...request }), outcomeOf)
  )

describe("a task that is resumed", () => {
  it.effect("continues with its history, as a new run in the same session", () => {
    let id = ""
    const script = Scripted.make({
      build: (request) => {
        const results = request.messages.flatMap((message) => message.role === "tool" ? message.content : [])
        id = /^task_id: (\S+)/.exec(results[0]?.output.value ?? "")?.[1] ?? ""
        return results.length === 0
          ? Scripted.tasks({ worker: "first" })
          : results.length === 1
          ? resume(id, "second")
          : "ok"
      },
      worker: ["one", "two"]
    })
    return Effect.gen(function*() {
      const events = yield* record()
      const root_ = yield* root()
      yield* Session.prompt(root_.id, "Go")
      const results = (yield* callsMade(root_.id)).map(resultOf)
      expect(results[0]).toContain(`task_id: ${id} `)
      expect(results[1]).toBe(
        `task_id: ${id} (for resuming to continue this task if needed)\n\n<task_result>\ntwo\n</task_result>`
      )
      expect(yield* childrenOf(root_.id)).toHaveLength(1)
      const second = script.requests.filter((request) => request.origin.path.length === 2)[1]
      expect(second?.messages.slice(1)).toMatchObject([
        { role: "user", content: [{ text: "first" }] },
        { role: "assistant", content: [{ text: "one" }] },
        { role: "user", content: [{ text: "second" }] }
      ])
      const runs = events.of("subagent.completed").map((event) => event.properties)
      expect(runs.map((each) => [each.task_id, each.description, each.usage.steps])).toEqual([
        [id, "worker task", 1],
        [id, "again", 1]
      ])
      expect(runs[0]!.run_id < runs[1]!.run_id).toBe(true)
      const stored = yield* Effect.flatMap(SessionStorage, (storage) => storage.runs({ rootID: root_.id }))
      expect(stored.rows).toMatchObject(runs.map((each) => ({
        id: each.run_id,
        state: "settled",
        outcome: { status: "completed", runID: each.run_id }
      })))
    }).pipe(Effect.scoped, Effect.provide(SkeinTest.layer(script, { agents })))
  })

  it.effect("shows the calls of its earlier runs as well", () => {
    let id = ""
    const script = Scripted.make({
      build: (request) => {
        const results = request.messages.flatMap((message) => message.role === "tool" ? message.content : [])
        id = /^task_id: (\S+)/.exec(results[0]?.output.value ?? "")?.[1] ?? ""
        return results.length === 0
          ? Scripted.tasks({ worker: "first" })
          : results.length === 1
          ? resume(id, "second")
          : "ok"
      },
      worker: [Scripted.call("look", {}), "one", Scripted.call("look", {}), "two"]
    })
    const look = SkeinTest.tool("look", () => Effect.succeed("seen"))
    return Effect.gen(function*() {
      const { id: rootID } = yield* root()
      yield* Session.prompt(rootID, "Go")
      const shown = (yield* callsMade(rootID)).map(({ state }) =>
        state.status === "completed" && state.metadata?.["summary"]
      )
      const row = { tool: "look", state: { status: "completed", title: expect.any(String) } }
      expect(shown).toMatchObject([[row], [row, row]])
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, tools: [look] })))
  })

  it.effect("can be resumed by the alias of its id, and after it failed", () => {
    const script = Scripted.make({ worker: [Scripted.fault("auth"), "better"] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const first = yield* run({ parentID: id })
      expect(first.status).toBe("failed")
      const second = yield* run({ parentID: id, taskID: first.taskID })
      expect(second).toMatchObject({ status: "completed", text: "better", taskID: first.taskID })
      expect(yield* treeOf(id)).toHaveLength(2)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
  })

  it.effect("does not return an earlier run's text as its own", () => {
    const script = Scripted.make({ worker: ["one", " ", Scripted.fault("auth")] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const { taskID } = yield* run({ parentID: id })
      expect(yield* run({ parentID: id, taskID })).toMatchObject({ status: "empty", text: "" })
      expect(yield* run({ parentID: id, taskID })).toMatchObject({ status: "failed", text: "" })
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
  })

  it.effect("keeps its agent", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { taskID } = yield* run({ parentID: id })
      const error = yield* Effect.flip(run({ parentID: id, taskID, agent: "lead" }))
      expect(error).toMatchObject({ _tag: "TaskRefused", reason: "agent_changed" })
      expect(error.message).toContain("belongs to the agent worker")
      expect(yield* messagesOf(taskID)).toHaveLength(2)
    }).pipe(Effect.provide(SkeinTest.layer({ worker: ["one"] }, { agents }))))

  it.effect("continues with the model that the call names", () => {
    const other = Scripted.make({ worker: ["from another"] }, { providerID: "other", modelID: "one" })
    const script = Scripted.make({ worker: ["from the first"] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const first = yield* run({ parentID: id })
      const second = yield* run({ parentID: id, taskID: first.taskID, model: { providerID: "other", modelID: "one" } })
      expect([first.text, second.text]).toEqual(["from the first", "from another"])
    }).pipe(Effect.provide(SkeinTest.layer({ layer: Provider.layerModels([script.model, other.model]) }, { agents })))
  })

  it.effect("is limited by the current ceilings", () => {
    const write = SkeinTest.tool("write", () => Effect.succeed("written"), {
      authorise: () => Effect.succeed([{ permission: "edit", patterns: ["a.ts"], always: [], metadata: {} }])
    })
    const script = Scripted.make({
      worker: [Scripted.call("write", { n: 1 }), "one", Scripted.call("write", { n: 2 }), "two"],
      plan: ["ok"]
    })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      const { taskID } = yield* run({ parentID: id })
      yield* session.prompt(id, "Plan now", { agent: "plan" })
      yield* run({ parentID: id, taskID })
      expect((yield* callsMade(taskID)).map(resultOf)).toEqual([
        "written",
        expect.stringContaining("plan mode forbids edit")
      ])
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, tools: [write], rules: { edit: "allow" } })))
  })
})

describe("a task that is resumed while it runs", () => {
  it.effect("starts a new run after the current one; each caller gets its own outcome", () => {
    const script = Scripted.make({
      worker: (request) => ({ text: `did ${Scripted.lastText(request)}`, delay: { first: 1_000 } })
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const events = yield* record()
      const first = yield* Effect.fork(run({ parentID: id, prompt: "a" }))
      yield* TestClock.adjust(500)
      const [child] = yield* childrenOf(id)
      const second = yield* Effect.fork(run({ parentID: id, prompt: "b", taskID: child!.id }))
      const third = yield* Effect.fork(run({ parentID: id, prompt: "c", taskID: child!.id }))
      yield* TestClock.adjust("1 minute")
      const outcomes = yield* Effect.all([Fiber.join(first), Fiber.join(second), Fiber.join(third)])
      expect(outcomes.map((outcome) => outcome.text)).toEqual(["did a", "did b", "did c"])
      expect(outcomes.map((outcome) => outcome.usage.steps)).toEqual([1, 1, 1])
      expect(new Set(outcomes.map((outcome) => outcome.runID)).size).toBe(3)
      expect(script.open.most).toBe(1)
      expect(events.of("subagent.completed").map((event) => event.properties.run_id)).toEqual(
        outcomes.map((outcome) => outcome.runID)
      )
      yield* expectStill(id, script)
    }).pipe(Effect.scoped, Effect.provide(SkeinTest.layer(script, { agents })))
  })

  it.effect("does not wait forever when an earlier caller gives up", () => {
    const script = Scripted.make({ worker: [{ text: "long", hangs: true }, "second"] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const first = yield* Effect.fork(run({ parentID: id }))
      yield* TestClock.adjust(10)
      const [child] = yield* childrenOf(id)
      const second = yield* Effect.fork(run({ parentID: id, taskID: child!.id }))
      yield* TestClock.adjust(10)
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust(10)
      expect(yield* Fiber.join(second)).toMatchObject({ status: "completed", text: "second" })
      const stored = yield* Effect.flatMap(SessionStorage, (storage) => storage.runs({ rootID: id }))
      expect(stored.rows.map((each) => each.outcome?.status)).toEqual(["stopped", "completed"])
      yield* expectStill(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
  })

  for (const concurrency of [1, 2]) {
    it.effect(`releases its slot if a person prompts its session meanwhile, of ${concurrency}`, () => {
      const slow = SkeinTest.tool("slow", () => Effect.as(Effect.sleep(1_000), "slept"))
      const script = Scripted.make({
        worker: [
          "done",
          { calls: [{ tool: "slow", input: { n: 1 } }], delay: { first: 1_000 } },
          { calls: [{ tool: "slow", input: { n: 2 } }], delay: { first: 1_000 } },
          "both done"
        ]
      })
      return Effect.gen(function*() {
        const { id } = yield* root()
        const { taskID } = yield* run({ parentID: id })
        const talking = yield* Effect.fork(Session.prompt(taskID, "And this?"))
        yield* TestClock.adjust(500)
        const again = yield* Effect.fork(run({ parentID: id, taskID, prompt: "again" }))
        yield* TestClock.adjust("1 minute")
        expect((yield* Fiber.join(talking)).text).toBe("both done")
        expect(yield* Fiber.join(again)).toMatchObject({ status: "completed", text: "both done" })
        const { rows } = yield* Effect.flatMap(SessionStorage, (storage) => storage.runs({ rootID: id }))
        expect(rows.every(({ time }) => time.started !== undefined)).toBe(true)
        yield* expectStill(id, script)
        expect(yield* run({ parentID: id })).toMatchObject({ status: "completed", text: "done" })
      }).pipe(
        Effect.provide(SkeinTest.layer(script, { agents, tools: [slow], config: { limits: { concurrency } } }))
      )
    })
  }

  it.effect("twice in one step by a model runs twice, in the order of the calls", () => {
    let id = ""
    const script = Scripted.make({
      build: (request) => {
        const results = request.messages.flatMap((message) => message.role === "tool" ? message.content : [])
        id = /^task_id: (\S+)/.exec(results[0]?.output.value ?? "")?.[1] ?? ""
        if (results.length === 0) return Scripted.tasks({ worker: "first" })
        if (results.length > 1) return "ok"
        return { calls: [...resume(id, "second").calls, ...resume(id, "third").calls] }
      },
      worker: (request) => ({ text: `did ${Scripted.lastText(request)}`, delay: { first: 100 } })
    })
    return Effect.gen(function*() {
      const { id: rootID } = yield* root()
      const fiber = yield* Effect.fork(Session.prompt(rootID, "Go"))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
      expect((yield* callsMade(rootID)).map((part) => /<task_result>\n(.*)\n/.exec(resultOf(part))?.[1])).toEqual([
        "did first",
        "did second",
        "did third"
      ])
      yield* expectStill(rootID, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, config: { limits: { concurrency: 1 } } })))
  })
})
