import { describe, expect, it } from "@effect/vitest"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { simulate } from "./support/simulate.ts"
import { callsMade, expectStill, root, said, treeOf } from "./support/tree.ts"

const lead = SkeinTest.agent("lead", { permission: { task: "allow" } })
const worker = SkeinTest.agent("worker")
const agents = [lead, { ...lead, name: "inner" }, worker]

const asking = SkeinTest.tool("asking", () => Effect.succeed("done"), {
  authorise: () => Effect.succeed([{ permission: "edit", patterns: ["a.ts"], always: [], metadata: {} }])
})

const taskCalls = (count: number, agent = "worker"): Scripted.ScriptedStep => ({
  calls: Array.from({ length: count }, (_, i) => ({
    tool: "task",
    input: { description: `part ${i}`, prompt: `${i}`, subagent_type: agent }
  }))
})

describe("many tasks in one step", () => {
  it.effect("run at most as many at once as the limit says, and give all results in the order of the calls", () => {
    const script = Scripted.make({
      build: [taskCalls(200), "all of them"],
      worker: (request) => {
        const n = Number(Scripted.lastText(request))
        return { text: `result ${n}`, delay: { first: 10 + (n * 37) % 50 } }
      }
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const events = yield* record()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 hour")
      expect((yield* Fiber.join(fiber)).text).toBe("all of them")
      expect(script.open.most).toBe(8)
      const told = (yield* callsMade(id)).map((part) => /<task_result>\n(.*)\n<\/task_result>$/.exec(said(part))?.[1])
      expect(told).toEqual(Array.from({ length: 200 }, (_, i) => `result ${i}`))
      const last = script.requests.at(-1)?.messages.flatMap((message) => message.role === "tool" ? message.content : [])
      expect(last?.map((result) => /result \d+/.exec(result.output.value)?.[0])).toEqual(told)
      const queued = events.of("session.status").filter((event) => event.properties.status.type === "queued")
      expect(queued).toHaveLength(192)
      yield* expectStill(id, script)
    }).pipe(
      Effect.scoped,
      Effect.provide(SkeinTest.layer(script, { agents, config: { limits: { concurrency: 8 } } }))
    )
  }, 20_000)

  it.effect("begin in the order of the calls", () => {
    const script = Scripted.make({ build: [taskCalls(6), "ok"], worker: [{ text: "done", delay: { first: 10 } }] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
      const begun = script.requests.filter((request) => request.origin.path.length === 2).map(Scripted.lastText)
      expect(begun).toEqual(["0", "1", "2", "3", "4", "5"])
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, config: { limits: { concurrency: 2 } } })))
  })

  it.effect("beyond what a turn may start are refused, with the limit and its setting", () => {
    const script = Scripted.make({
      build: [taskCalls(2, "lead"), taskCalls(1), "ok", taskCalls(1), "ok"],
      lead: [taskCalls(2), "lead is done"],
      worker: ["done"]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      const refusal =
        "This turn has started 5 tasks, which is the limit (limits.max_tasks, --max-tasks). Do the rest without tasks."
      expect(yield* treeOf(id)).toHaveLength(1 + 5)
      const all = yield* Effect.forEach(yield* treeOf(id), (info) => callsMade(info.id))
      expect(all.flat().map(said).filter((text) => text === refusal)).toHaveLength(2)
      yield* Session.prompt(id, "Once more")
      expect(yield* treeOf(id)).toHaveLength(1 + 6)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, config: { limits: { max_tasks: 5 } } })))
  })
})

describe("parents that wait for their children", () => {
  /** Three levels below the root, each agent waits for two of the next. */
  const deep = () =>
    Scripted.make({
      build: [taskCalls(2, "lead"), "the end"],
      lead: [taskCalls(2, "inner"), { text: "lead is done", delay: { first: 5 } }],
      inner: [taskCalls(2, "worker"), { text: "inner is done", delay: { first: 5 } }],
      worker: [{ text: "done", delay: { first: 10 } }]
    })

  it("do not block each other, be there but one slot", () => {
    for (const concurrency of [1, 2, 3]) {
      const script = deep()
      simulate(
        Effect.gen(function*() {
          const { id } = yield* root()
          expect((yield* Session.prompt(id, "Go")).text).toBe("the end")
          expect(yield* treeOf(id)).toHaveLength(1 + 2 + 4 + 8)
          expect(script.open.most).toBeLessThanOrEqual(concurrency)
          yield* expectStill(id, script)
        }).pipe(Effect.provide(SkeinTest.layer(script, { agents, config: { limits: { concurrency } } }))),
        { seed: concurrency }
      )
    }
  }, 20_000)

  it.effect("give way to others while questions wait", () => {
    const script = Scripted.make({
      build: [taskCalls(4), "the end"],
      worker: (request) =>
        Number(Scripted.lastText(request)) < 2 && !request.messages.some((message) => message.role === "tool")
          ? Scripted.call("asking", {})
          : { text: "done", delay: { first: 10 } }
    })
    return Effect.gen(function*() {
      const permission = yield* Permission
      const { id } = yield* root()
      const events = yield* record()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 minute")
      const pending = yield* permission.pending(id)
      expect(pending).toHaveLength(2)
      expect(events.of("subagent.completed")).toHaveLength(2)
      for (const question of pending) yield* permission.reply(question.id, "once")
      yield* TestClock.adjust("1 minute")
      expect((yield* Fiber.join(fiber)).text).toBe("the end")
      yield* expectStill(id, script)
    }).pipe(
      Effect.scoped,
      Effect.provide(
        SkeinTest.layer(script, { agents, tools: [asking], asks: "person", config: { limits: { concurrency: 2 } } })
      )
    )
  })

  it.effect("go on before new agents begin", () => {
    const script = Scripted.make({
      build: [{ calls: [...(taskCalls(1, "lead").calls ?? []), ...(taskCalls(3, "worker").calls ?? [])] }, "the end"],
      lead: [taskCalls(1, "inner"), { text: "lead is done", delay: { first: 5 } }],
      inner: [{ text: "inner is done", delay: { first: 5 } }],
      worker: [{ text: "done", delay: { first: 5 } }]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
      const order = script.requests.map((request) => request.origin.path.at(-1))
      // The lead gave way to the first worker; when its own child is done it goes before whoever has not begun.
      expect(order.lastIndexOf("lead")).toBe(order.indexOf("inner") + 1)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, config: { limits: { concurrency: 1 } } })))
  })

  it.effect("of several roots share the limit of the process", () => {
    const script = Scripted.make({ build: [taskCalls(3), "the end"], worker: [{ text: "done", delay: { first: 10 } }] })
    return Effect.gen(function*() {
      const roots = yield* Effect.all([root(), root(), root()])
      const fibers = yield* Effect.forEach(roots, ({ id }) => Effect.fork(Session.prompt(id, "Go")))
      yield* TestClock.adjust("1 minute")
      yield* Effect.forEach(fibers, (fiber) => Fiber.join(fiber))
      expect(script.open.most).toBe(4)
    }).pipe(
      Effect.provide(
        SkeinTest.layer(script, { agents, config: { limits: { concurrency: 2, process_concurrency: 4 } } })
      )
    )
  })
})
