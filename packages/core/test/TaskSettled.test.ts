import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { StorageError } from "@skein/core/StorageError"
import { Tasks } from "@skein/core/Tasks"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { expectStill, root } from "./support/tree.ts"

const agents = [SkeinTest.agent("worker")]
const slow = SkeinTest.tool("slow", ({ ms }) => Effect.as(Effect.sleep(Number(ms)), "slept"))

/** Starts a background task of the worker. */
const start = (parentID: SessionID, prompt: string) =>
  Effect.flatMap(
    Tasks,
    (tasks) => tasks.run({ parentID, agent: "worker", description: prompt, prompt, byUser: true, background: true })
  )

describe("a settled run", () => {
  it.effect("stays settled if a person prompts the session of a task that was stopped while it was queued", () => {
    const script = Scripted.make({
      build: ["noted", "noted", "noted"],
      worker: [{ text: "one", delay: { first: 60_000 } }, "two"]
    })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const storage = yield* SessionStorage
      const { id } = yield* root()
      yield* start(id, "first")
      const { taskID } = yield* start(id, "second")
      yield* TestClock.adjust("1 second")
      yield* tasks.stop({ parentID: id, taskID }, { by: "the user" })
      const settled = (yield* storage.runs({ taskID })).rows
      expect(settled).toMatchObject([{ state: "settled", outcome: { status: "stopped" } }])
      const prompted = yield* Effect.fork(Session.prompt(taskID, "More"))
      yield* TestClock.adjust("2 minutes")
      yield* Fiber.join(prompted)
      expect((yield* storage.runs({ taskID })).rows).toEqual(settled)
      expect(yield* storage.unfinished).toEqual([])
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, config: { limits: { concurrency: 1 } } })))
  })
})

describe("a task that concludes", () => {
  it.effect("reads no more messages: a later one starts a new run", () => {
    const script = Scripted.make({
      build: ["noted", "noted", "noted"],
      worker: [
        Scripted.call("slow", { ms: 60_000 }),
        { text: "concluded", delay: { first: 1_000 } },
        { text: "read", delay: { first: 1_000 } }
      ]
    })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const storage = yield* SessionStorage
      const { id } = yield* root()
      const { taskID } = yield* start(id, "first")
      const name = { parentID: id, taskID }
      yield* TestClock.adjust(1_000)
      const stopping = yield* Effect.fork(tasks.stop(name, { by: "the user" }))
      yield* TestClock.adjust(500)
      const accepted = yield* tasks.message(name, "hm")
      expect(accepted).toMatchObject({ status: "accepted", taskID })
      yield* TestClock.adjust("1 minute")
      expect(yield* Fiber.join(stopping)).toMatchObject([{ status: "stopped", text: "concluded" }])
      yield* Effect.flatMap(Session, (session) => session.untilIdle(id))
      expect((yield* storage.runs({ taskID })).rows).toMatchObject([
        { prompt: "first", outcome: { status: "stopped", text: "concluded" } },
        { prompt: "hm", outcome: { status: "completed", text: "read" } }
      ])
      const requests = script.requests.filter(({ origin }) => origin.sessionID === taskID)
      expect(requests.map((request) => Scripted.lastText(request))).toEqual([
        "first",
        expect.stringContaining("asked to stop"),
        "hm"
      ])
      yield* expectStill(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, tools: [slow] })))
  })
})

describe("a task that could not be stored", () => {
  const full = new StorageError({ operation: "commit", reason: "full", message: "full" })

  for (
    const [what, budget, config] of [
      ["the budget", { tasks: 2 }, {}],
      ["the tasks of the turn", undefined, { limits: { max_tasks: 2 } }]
    ] as const
  ) {
    it.effect(`uses nothing of ${what}`, () => {
      let fails = true
      const storage = Layer.effect(
        SessionStorage,
        Effect.map(SessionStorage, (inner) => ({
          ...inner,
          commit: (writes: Parameters<typeof inner.commit>[0]) =>
            fails && writes.some(({ _tag }) => _tag === "Run") ? Effect.fail(full) : inner.commit(writes)
        }))
      ).pipe(Layer.provide(SessionStorage.layerMemory))
      const script = Scripted.make({ worker: ["done", "done", "done"] })
      return Effect.gen(function*() {
        const tasks = yield* Tasks
        const { id } = yield* root(budget === undefined ? {} : { budget })
        const run = Effect.either(
          tasks.run({ parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true })
        )
        for (let n = 0; n < 3; n++) expect(yield* run).toMatchObject({ left: { reason: "full" } })
        fails = false
        for (let n = 0; n < 2; n++) expect(yield* run).toMatchObject({ right: { status: "completed" } })
        expect(yield* run).toMatchObject({ left: { _tag: "TaskRefused" } })
        expect((yield* Effect.flatMap(Session, (session) => session.get(id))).budget?.spent.tasks).toBe(budget?.tasks)
      }).pipe(Effect.provide(SkeinTest.layer(script, { agents, storage, config })))
    })
  }
})
