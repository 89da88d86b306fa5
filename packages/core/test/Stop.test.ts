import { describe, expect, it } from "@effect/vitest"
import { Bus } from "@skein/core/Bus"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { Tasks } from "@skein/core/Tasks"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { callsMade, childrenOf, expectStill, resultOf, root, treeOf } from "./support/tree.ts"

const lead = SkeinTest.agent("lead", { permission: { task: "allow" } })
const stop = (id: Parameters<typeof expectStill>[0]) => Effect.flatMap(Session, (session) => session.stop(id))

describe("a stop", () => {
  it.effect("ends 50 descendants on three levels, with their requests and calls", () => {
    const many = (agent: string, count: number) =>
      Scripted.tasks(...Array.from({ length: count }, (_, i) => ({ [agent]: `part ${i}` })))
    const script = Scripted.make({
      build: [many("lead", 5)],
      lead: [many("inner", 3)],
      inner: [many("worker", 2)],
      worker: [{ text: "so far", hangs: true }]
    })
    const agents = [lead, { ...lead, name: "inner" }, SkeinTest.agent("worker")]
    const config = { limits: { concurrency: 64, subagent_depth: 3 } }
    return Effect.gen(function*() {
      const { id } = yield* root()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 second")
      expect(script.open.now).toBe(30)
      expect(yield* treeOf(id)).toHaveLength(1 + 5 + 15 + 30)
      yield* stop(id)
      expect((yield* Effect.flip(Fiber.join(fiber)))._tag).toBe("SessionStopped")
      yield* expectStill(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, config })))
  })

  it.effect("is reported to waiting callers, and keeps partial results", () => {
    const script = Scripted.make({ build: [{ text: "so far", hangs: true }] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const one = yield* Effect.fork(Session.prompt(id, "one"))
      yield* TestClock.adjust(0)
      const two = yield* Effect.fork(Session.prompt(id, "two"))
      yield* TestClock.adjust(0)
      yield* stop(id)
      for (const fiber of [one, two]) {
        expect(yield* Effect.flip(Fiber.join(fiber))).toMatchObject({ _tag: "SessionStopped", id })
      }
      const messages = yield* Effect.flatMap(Session, (session) => session.messages(id))
      expect(messages.at(-1)).toMatchObject({
        info: { role: "assistant", error: { tag: "interrupted" } },
        parts: [{ type: "step-start" }, { type: "text", text: "so far", partial: true }]
      })
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })

  it.effect("leaves unread messages to a task for its next run, and starts none for them", () => {
    const script = Scripted.make({
      build: [Scripted.tasks({ worker: "a" }), "again"],
      worker: [{ text: "so far", hangs: true }, "never asked"]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 second")
      const [child] = yield* childrenOf(id)
      const tasks = yield* Tasks
      yield* tasks.message({ parentID: id, taskID: child!.id }, "and this")
      yield* stop(id)
      yield* Fiber.await(fiber)
      yield* TestClock.adjust("1 minute")
      expect(script.requests).toHaveLength(2)
      const storage = yield* SessionStorage
      expect((yield* storage.inbox(child!.id)).rows.map(({ kind }) => kind)).toEqual(["steer"])
      yield* expectStill(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents: [SkeinTest.agent("worker")] })))
  })

  it.effect("does not affect other callers when one of several is interrupted", () => {
    const script = Scripted.make({ build: [{ text: "answer", delay: { first: 1_000 } }] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const one = yield* Effect.fork(Session.prompt(id, "one"))
      const two = yield* Effect.fork(Session.prompt(id, "two"))
      yield* TestClock.adjust(500)
      yield* Fiber.interrupt(one)
      yield* TestClock.adjust("1 minute")
      expect((yield* two).text).toBe("answer")
      yield* expectStill(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })

  it.effect("is reported once nothing is open, not before", () => {
    const script = Scripted.make({
      build: [Scripted.tasks({ worker: "a" })],
      worker: [{ text: "so far", hangs: true }]
    })
    return Effect.gen(function*() {
      const bus = yield* Bus
      const { id } = yield* root()
      const open: Array<number> = []
      yield* bus.listen({ all: true }, (event) => {
        if (event.type === "session.idle" || event.type === "subagent.failed") open.push(script.open.now)
      })
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 second")
      expect(script.open.now).toBe(1)
      yield* Fiber.interrupt(fiber)
      expect(open).toEqual([0, 0, 0])
    }).pipe(Effect.scoped, Effect.provide(SkeinTest.layer(script, { agents: [SkeinTest.agent("worker")] })))
  })

  it.effect("of a task by interrupting its caller keeps its partial text", () => {
    const script = Scripted.make({ worker: [{ text: "so far", hangs: true }] })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const storage = yield* SessionStorage
      const { id } = yield* root()
      const request = { parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true }
      const fiber = yield* Effect.fork(tasks.run(request))
      yield* TestClock.adjust(100)
      yield* Fiber.interrupt(fiber)
      const { rows } = yield* storage.runs({ rootID: id })
      expect(rows).toMatchObject([{ outcome: { status: "stopped", by: "its caller", text: "so far" } }])
      yield* expectStill(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents: [SkeinTest.agent("worker")] })))
  })

  it.effect("of the session is named in the outcomes of its tasks", () => {
    const script = Scripted.make({
      build: [Scripted.tasks({ worker: "a" }, { worker: "b" })],
      worker: [{ text: "so far", hangs: true }, { text: "so far", hangs: true }]
    })
    const layer = SkeinTest.layer(script, {
      agents: [SkeinTest.agent("worker")],
      config: { limits: { concurrency: 1 } }
    })
    return Effect.gen(function*() {
      const session = yield* Session
      const storage = yield* SessionStorage
      const { id } = yield* root()
      const fiber = yield* Effect.fork(session.prompt(id, "Go"))
      yield* TestClock.adjust("1 second")
      yield* session.stop(id, "the user")
      yield* Fiber.await(fiber)
      const { rows } = yield* storage.runs({ rootID: id })
      expect(rows.map(({ outcome }) => outcome)).toMatchObject([
        { status: "stopped", by: "the user" },
        { status: "stopped", by: "the user" }
      ])
      yield* expectStill(id, script)
    }).pipe(Effect.provide(layer))
  })

  it.effect("also ends the request for a title", () => {
    const script = Scripted.make({
      build: [{ text: "working", delay: { between: 60_000 }, pieces: 3 }],
      title: [{ text: "Late", delay: { first: 600_000 } }]
    })
    return Effect.gen(function*() {
      const { id } = yield* Session.create({ directory: "/work" })
      yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 second")
      expect(script.requests.map((request) => request.origin.purpose)).toContain("title")
      yield* stop(id)
      yield* expectStill(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { titles: true })))
  })

  it.effect("withdraws open questions, and publishes that", () => {
    const script = Scripted.make({ build: [Scripted.tasks({ worker: "a" })], worker: [Scripted.call("guarded", {})] })
    const guarded = SkeinTest.tool("guarded", () => Effect.succeed("done"), {
      authorise: () => Effect.succeed([{ permission: "edit", patterns: ["a.ts"], always: [], metadata: {} }])
    })
    return Effect.gen(function*() {
      const permission = yield* Permission
      const { id } = yield* root()
      const events = yield* record()
      yield* Effect.fork(Session.prompt(id, "Go"))
      const asked = yield* events.first("permission.asked")
      expect(yield* permission.pending()).toHaveLength(1)
      yield* stop(id)
      expect(yield* permission.pending()).toEqual([])
      expect(events.of("permission.replied")).toMatchObject([{
        properties: { id: asked.properties.id, reply: "reject" }
      }])
      yield* expectStill(id, script)
    }).pipe(
      Effect.scoped,
      Effect.provide(SkeinTest.layer(script, { agents: [SkeinTest.agent("worker")], tools: [guarded], asks: "person" }))
    )
  })

  it.effect("also ends runs that wait for an earlier run of their task", () => {
    const script = Scripted.make({ worker: [{ text: "first", hangs: true }, "second"] })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const { id } = yield* root()
      const request = { parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true }
      const one = yield* Effect.fork(tasks.run(request))
      yield* TestClock.adjust(0)
      const [child] = yield* childrenOf(id)
      const two = yield* Effect.fork(tasks.run({ ...request, taskID: child?.id ?? "" }))
      yield* TestClock.adjust(0)
      yield* stop(id)
      expect((yield* one).status).toBe("stopped")
      expect((yield* two).status).toBe("stopped")
      expect(script.requests).toHaveLength(1)
      yield* expectStill(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents: [SkeinTest.agent("worker")] })))
  })

  it.effect("of a child does not affect its parent and siblings", () => {
    const script = Scripted.make({
      build: [Scripted.tasks({ worker: "a" }, { worker: "b" }), "one was stopped"],
      worker: (request) =>
        Scripted.lastText(request) === "a"
          ? { text: "half", hangs: true }
          : { text: "b is done", delay: { first: 1_000 } }
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust(100)
      const [first] = yield* childrenOf(id)
      yield* stop(first?.id ?? id)
      yield* TestClock.adjust("1 minute")
      expect((yield* fiber).text).toBe("one was stopped")
      const [a, b] = yield* callsMade(id)
      expect(a && resultOf(a)).toContain("state: stopped")
      expect(a && resultOf(a)).toContain("<task_result>\nhalf\n</task_result>")
      expect(b && resultOf(b)).toContain("b is done")
      yield* expectStill(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents: [SkeinTest.agent("worker")] })))
  })

  it.effect("of an unknown session is refused", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const session = yield* Session
      yield* session.remove(id)
      expect((yield* Effect.flip(session.stop(id)))._tag).toBe("SessionNotFound")
    }).pipe(Effect.provide(SkeinTest.layer({}))))
})
