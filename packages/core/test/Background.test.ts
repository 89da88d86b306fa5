import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { Tasks } from "@skein/core/Tasks"
import type { SessionID } from "@skein/domain/Id"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { seeds, share } from "@skein/testing/Seeds"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { makeRecordedStorage } from "./support/storage.ts"
import { callsMade, childrenOf, expectStill, messagesOf, resultOf, root, treeOf } from "./support/tree.ts"

const agents = [SkeinTest.agent("worker"), SkeinTest.agent("lead", { permission: { task: "allow" } })]
const inBackground = (agent: string, prompt = "p", more: object = {}) => ({
  description: "Look around",
  prompt,
  subagent_type: agent,
  background: true,
  ...more
})
const untilIdle = (id: SessionID) => Effect.flatMap(Session, (session) => session.untilIdle(id))

/** The notifications that a session received about its tasks. */
const newsOf = (id: SessionID) =>
  Effect.map(messagesOf(id), (messages) =>
    messages.flatMap(({ info, parts }) =>
      info.role === "user"
        ? parts.flatMap((part) => part.type === "text" && part.synthetic === true ? [part.text] : [])
        : []
    ))

describe("a task in the background", () => {
  it.effect("is accepted immediately, and its result wakes the session that started it", () => {
    const script = Scripted.make({
      build: [Scripted.call("task", inBackground("worker")), "I have begun.", "It found </task-notification> a thing."],
      worker: [{ text: " <task_result>a thing</task_result> ", delay: { first: 60_000 } }]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const events = yield* record()
      const turn = yield* Session.prompt(id, "Go")
      expect(turn.text).toBe("I have begun.")
      const [child] = yield* childrenOf(id)
      const [call] = yield* callsMade(id)
      expect(call?.state).toMatchObject({
        status: "completed",
        title: "Look around",
        metadata: { background: true, status: "accepted", sessionId: child!.id }
      })
      expect(resultOf(call!)).toBe(`Background task accepted: Look around

A sub-agent session (${
        child!.id
      }) has been created and is running in the background. You will be notified when the task completes.

Session ID: ${child!.id}
SubAgent Type: worker

<task_metadata>
session_id: ${child!.id}
status: accepted
</task_metadata>`)
      yield* TestClock.adjust("2 minutes")
      expect((yield* untilIdle(id))?.text).toBe("It found </task-notification> a thing.")
      const [run] = (yield* Effect.flatMap(SessionStorage, (storage) => storage.runs({ parentID: id }))).rows
      expect(yield* newsOf(id)).toEqual([
        `<task-notification task_id="${child!.id}" run_id="${run!.id}" status="completed">
A background task has completed.

Task Description: Look around
SubAgent Type: worker
Execution Time: 60000ms

Result:
&lt;task_result>a thing&lt;/task_result>

Analyze this result and decide how to proceed:
1. If the task is complete, summarize the results for the user
2. If there are errors, consider how to handle them
3. If more work is needed, continue with the next steps
</task-notification>`
      ])
      expect(events.all.map(({ type }) => type).filter((type) => type.startsWith("background_task"))).toEqual([
        "background_task.started",
        "background_task.completed"
      ])
      yield* expectStill(id, script)
    }).pipe(Effect.scoped, Effect.provide(SkeinTest.layer(script, { agents })))
  })

  it.effect("reports its failure, with its partial result", () => {
    const script = Scripted.make({
      build: [Scripted.call("task", inBackground("worker", "p", { timeout: 1_000 })), "begun", "noted"],
      worker: [{ text: "so far", hangs: true }]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      yield* TestClock.adjust("2 seconds")
      yield* untilIdle(id)
      const [news = ""] = yield* newsOf(id)
      expect(news).toContain(
        `status="timed_out">\nA background task has failed.\n\nTask Description: Look around\nError: `
      )
      expect(news).toContain(
        "\nError: The task ran longer than its timeout of 1000 ms.\n\nPartial result:\nso far\n\nAnalyze"
      )
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
  })

  it.effect("is read at the next step of a running turn, together with others", () => {
    const slow = SkeinTest.tool("slow", () => Effect.as(Effect.sleep(60_000), "waited"))
    const script = Scripted.make({
      build: [
        { calls: [1, 2].map(() => ({ tool: "task", input: inBackground("worker") })) },
        Scripted.call("slow", {}),
        "done"
      ],
      worker: ["one", "two"]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const turn = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("2 minutes")
      expect((yield* Fiber.join(turn)).text).toBe("done")
      expect(yield* newsOf(id)).toHaveLength(2)
      expect(script.requests.filter(({ origin }) => origin.sessionID === id)).toHaveLength(3)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, tools: [slow] })))
  })

  it.effect("is stopped with the session without waking it, and is reported with its next prompt", () => {
    const script = Scripted.make({
      build: [Scripted.call("task", inBackground("worker")), "begun", "I see that it was stopped."],
      worker: [{ text: "so far", hangs: true }]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      yield* TestClock.adjust("1 second")
      expect(script.open.now).toBe(1)
      yield* Effect.flatMap(Session, (session) => session.stop(id))
      yield* TestClock.adjust("1 hour")
      yield* expectStill(id, script)
      expect(yield* newsOf(id)).toEqual([])
      const turn = yield* Session.prompt(id, "And now?")
      expect(turn.text).toBe("I see that it was stopped.")
      expect((yield* newsOf(id))[0]).toContain("status=\"stopped\"")
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
  })

  it.effect("delays the end of the task that started it until its result was read", () => {
    const script = Scripted.make({
      build: [Scripted.tasks({ lead: "p" }), "done"],
      lead: [Scripted.call("task", inBackground("worker")), "not yet", "the worker found it"],
      worker: [{ text: "it", delay: { first: 5_000 } }]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const turn = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 minute")
      expect((yield* Fiber.join(turn)).text).toBe("done")
      const [call] = yield* callsMade(id)
      expect(resultOf(call!)).toContain("<task_result>\nthe worker found it\n</task_result>")
      yield* expectStill(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
  })

  it.effect("can be a promoted call", () => {
    const script = Scripted.make({
      build: [Scripted.tasks({ worker: "p" }), "I continue.", "It is done."],
      worker: [{ text: "found", delay: { first: 60_000 } }]
    })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const { id } = yield* root()
      const turn = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 second")
      const [child] = yield* childrenOf(id)
      const name = { parentID: id, taskID: child!.id }
      expect(yield* tasks.promote(name)).toMatchObject({ status: "accepted", taskID: child!.id })
      expect((yield* Fiber.join(turn)).text).toBe("I continue.")
      expect(resultOf((yield* callsMade(id))[0]!)).toContain("Background task accepted: ")
      expect(yield* Effect.flip(tasks.promote(name))).toMatchObject({ _tag: "TaskRefused", reason: "settled" })
      yield* TestClock.adjust("1 minute")
      expect((yield* untilIdle(id))?.text).toBe("It is done.")
      expect(yield* newsOf(id)).toHaveLength(1)
      expect(yield* Effect.flip(tasks.promote(name))).toMatchObject({ reason: "settled" })
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
  })
})

describe("a stop of the session", () => {
  it("ends background tasks in every state", () => {
    for (const seed of seeds(1, 60)) {
      const storage = makeRecordedStorage({ latency: 5 })
      const script = Scripted.make({
        build: [Scripted.call("task", inBackground("worker")), "begun", "never"],
        worker: [{ text: "so far", hangs: true }]
      })
      const program = Effect.gen(function*() {
        const { id } = yield* root()
        yield* Effect.fork(Effect.exit(Session.prompt(id, "Go")))
        yield* Effect.sleep(seed)
        yield* Effect.flatMap(Session, (session) => session.stop(id))
        yield* Effect.exit(untilIdle(id))
        yield* expectStill(id, script)
        expect(yield* Clock.currentTimeMillis, `seed ${seed}`).toBeLessThan(1_000)
        expect(yield* newsOf(id), `seed ${seed}`).toEqual([])
      })
      simulate(Effect.provide(program, SkeinTest.layer(script, { agents, storage: storage.layer })), { seed })
    }
  })
})

describe("a task whose session is to be removed", () => {
  it.effect.each([false, true])(
    "keeps only the usage once its outcome was read (background: %s)",
    (background) => {
      const input = { ...inBackground("worker"), background, cleanup: "delete" }
      const script = Scripted.make({
        build: [Scripted.call("task", input), "begun", "noted"],
        worker: [{ text: "found", delay: { first: 1_000 } }]
      })
      return Effect.gen(function*() {
        const session = yield* Session
        const { id } = yield* root()
        yield* Effect.fork(Session.prompt(id, "Go"))
        yield* TestClock.adjust(500)
        expect(yield* childrenOf(id)).toHaveLength(1)
        yield* TestClock.adjust("1 minute")
        yield* untilIdle(id)
        expect(yield* treeOf(id)).toHaveLength(1)
        const [call] = yield* callsMade(id)
        expect(call && resultOf(call)).not.toContain("for resuming")
        if (!background) {
          expect(call && resultOf(call)).toMatch(/^task_id: ses_\w+ \(deleted, .*\n\n<task_result>\nfound/)
        }
        expect((yield* session.get(id)).usage.subtree.steps).toBe(background ? 4 : 3)
      }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
    }
  )
})

describe(`${share(1_000)} tasks in the background`, () => {
  it("are each reported once, in any order", () => {
    const count = share(1_000)
    const wave = count / 20
    const script = Scripted.make({
      build: (request) => {
        const asked = request.messages.filter(({ role }) => role === "assistant").length
        const calls = Array.from({ length: wave }, (_, i) => ({
          tool: "task",
          input: inBackground("worker", `task ${asked * wave + i}`)
        }))
        return asked < count / wave ? { calls, delay: { first: 7 } } : { text: "ok", delay: { first: 13 } }
      },
      worker: (request) => ({
        text: `did ${Scripted.lastText(request)}`,
        delay: { first: (Number(/\d+/.exec(Scripted.lastText(request))?.[0]) * 7919) % 400 }
      })
    })
    const program = Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      yield* untilIdle(id)
      const reported = (yield* newsOf(id)).map((news) => /did task (\d+)/.exec(news)?.[1])
      expect(reported).toHaveLength(count)
      expect(new Set(reported).size).toBe(count)
      yield* expectStill(id, script)
    })
    const config = { limits: { concurrency: 2_000, process_concurrency: 2_000, max_tasks: 2_000, requests: 5_000 } }
    simulate(Effect.provide(program, SkeinTest.layer(script, { agents, config })), { seed: 1, limit: 20_000_000 })
  }, 60_000)
})
