import { describe, expect, it } from "@effect/vitest"
import { Permission } from "@skein/core/Permission"
import { SessionStorage } from "@skein/core/SessionStorage"
import { type TaskRequest, Tasks } from "@skein/core/Tasks"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { childrenOf, expectStill, outcomeOf, root } from "./support/tree.ts"

const asking = SkeinTest.tool("asking", () => Effect.succeed("done"), {
  authorise: () => Effect.succeed([{ permission: "edit", patterns: ["a.ts"], always: [], metadata: {} }])
})
const agents = [
  SkeinTest.agent("worker"),
  SkeinTest.agent("hasty", { timeout: 5_000 }),
  SkeinTest.agent("lead", { permission: { task: "allow" } })
]

const start = Effect.fnUntraced(function*(request: Partial<TaskRequest>) {
  const tasks = yield* Tasks
  const { id } = yield* root()
  const timed = Effect.gen(function*() {
    const outcome = yield* tasks.run({
      parentID: id,
      agent: "worker",
      description: "d",
      prompt: "p",
      byUser: true,
      ...request
    })
    return { outcome, at: yield* Clock.currentTimeMillis }
  })
  return { id, fiber: yield* Effect.fork(timed) }
})

const provide = (scripts: SkeinTest.Scripts) =>
  Effect.provide(SkeinTest.layer(scripts, { agents, tools: [asking], asks: "person" }))

describe("the timeout of a task", () => {
  it.effect("ends it at exactly that time, with its partial text and everything below it", () => {
    const script = Scripted.make({
      lead: [{ ...Scripted.tasks({ worker: "a" }, { worker: "b" }), text: "I ask two." }],
      worker: [{ text: "looking", hangs: true }]
    })
    return Effect.gen(function*() {
      const { fiber, id } = yield* start({ agent: "lead", timeout: 90_000 })
      yield* TestClock.adjust(89_999)
      expect(script.open.now).toBe(2)
      yield* TestClock.adjust(1)
      expect(yield* Fiber.join(fiber)).toMatchObject({
        at: 90_000,
        outcome: { status: "timed_out", which: "timeout", after: 90_000, text: "I ask two.", durationMs: 90_000 }
      })
      yield* expectStill(id, script)
    }).pipe(provide(script))
  })

  it.effect("is that of the call, else of the agent, else half an hour", () => {
    // The model keeps streaming, so that only the task's own timeout can end it.
    const script = Scripted.make({ "*": [{ text: "x".repeat(100), pieces: 100, delay: { between: 100_000 } }] })
    return Effect.gen(function*() {
      const runs = yield* Effect.all([
        start({ agent: "hasty", timeout: 1_000 }),
        start({ agent: "hasty" }),
        start({ agent: "worker" })
      ])
      yield* TestClock.adjust("1 hour")
      const ends = yield* Effect.forEach(runs, ({ fiber }) => Fiber.join(fiber))
      expect(ends.map(({ at, outcome }) => [outcome.status, at])).toEqual([
        ["timed_out", 1_000],
        ["timed_out", 5_000],
        ["timed_out", 1_800_000]
      ])
    }).pipe(provide(script))
  })

  it.effect("is paused while a person is asked, however long", () => {
    const talking = { text: "x".repeat(100), pieces: 100, delay: { between: 60_000 } }
    const script = Scripted.make({ worker: [{ ...Scripted.call("asking", {}), delay: { first: 60_000 } }, talking] })
    return Effect.gen(function*() {
      const permission = yield* Permission
      const { fiber, id } = yield* start({ timeout: 600_000 })
      yield* TestClock.adjust(60_000)
      const [question] = yield* permission.pending(id)
      yield* TestClock.adjust("5 hours")
      expect(yield* Fiber.poll(fiber)).toMatchObject({ _tag: "None" })
      yield* permission.reply(question!.id, "once")
      yield* TestClock.adjust(600_000 - 60_000 - 1)
      expect(yield* Fiber.poll(fiber)).toMatchObject({ _tag: "None" })
      yield* TestClock.adjust(1_001)
      expect(yield* Fiber.join(fiber)).toMatchObject({ outcome: { status: "timed_out" } })
    }).pipe(provide(script))
  })

  it.effect("is paused while a person is asked for a descendant", () => {
    const script = Scripted.make({
      lead: [Scripted.tasks({ worker: "a" }), "lead is done"],
      worker: [Scripted.call("asking", {}), "worker is done"]
    })
    return Effect.gen(function*() {
      const permission = yield* Permission
      const events = yield* record()
      const { fiber, id } = yield* start({ agent: "lead", timeout: 600_000 })
      yield* TestClock.adjust("3 hours")
      const asked = yield* events.first("permission.asked")
      expect(asked.properties).toMatchObject({ rootID: id, path: ["build", "lead", "worker"] })
      yield* permission.reply(asked.properties.id, "once")
      yield* TestClock.adjust(1_000)
      expect(yield* Fiber.join(fiber)).toMatchObject({ outcome: { status: "completed", text: "lead is done" } })
    }).pipe(Effect.scoped, provide(script))
  })

  it.effect("does not count the time that the task waited in the queue behind an earlier run", () => {
    const script = Scripted.make({
      worker: [{ text: "one", delay: { first: 8_000 } }, { text: "two", delay: { first: 8_000 } }]
    })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const { fiber, id } = yield* start({ timeout: 10_000 })
      yield* TestClock.adjust(1)
      const [child] = yield* childrenOf(id)
      const second = yield* Effect.fork(
        tasks.run({
          parentID: id,
          agent: "worker",
          description: "d",
          prompt: "p",
          byUser: true,
          taskID: child!.id,
          timeout: 10_000
        })
      )
      yield* TestClock.adjust("1 minute")
      expect((yield* Fiber.join(fiber)).outcome.status).toBe("completed")
      expect((yield* Fiber.join(second)).status).toBe("completed")
    }).pipe(provide(script))
  })

  it.effect("ends tasks that still wait for a slot, each at its time", () => {
    const script = Scripted.make({ worker: [{ text: "on and on", hangs: true }] })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const { id } = yield* root()
      const timed = (timeout: number) =>
        Effect.zip(
          Effect.flatMap(
            tasks.run({ parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true, timeout }),
            outcomeOf
          ),
          Clock.currentTimeMillis
        )
      const fiber = yield* Effect.fork(
        Effect.forEach([60_000, 9_000, 3_000, 9_000], timed, { concurrency: "unbounded" })
      )
      yield* TestClock.adjust(3_000)
      expect((yield* tasks.status({ parentID: id })).map(({ state }) => state)).toEqual([
        "running",
        "queued",
        "settled",
        "queued"
      ])
      yield* TestClock.adjust(60_000)
      const ends = yield* Fiber.join(fiber)
      expect(ends.map(([{ status }, at]) => [status, at])).toEqual(
        [60_000, 9_000, 3_000, 9_000].map((at) => ["timed_out", at])
      )
      expect(script.requests).toHaveLength(1)
      // Those that never began got no prompt either.
      const storage = yield* SessionStorage
      const said = yield* Effect.forEach(yield* childrenOf(id), (child) => storage.inbox(child.id))
      expect(said.flatMap(({ rows }) => rows)).toEqual([])
      yield* expectStill(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, config: { limits: { concurrency: 1 } } })))
  })

  it.effect("does not affect a task that ends in time", () => {
    const script = Scripted.make({ worker: [{ text: "just in time", delay: { first: 9_999 } }] })
    return Effect.gen(function*() {
      const { fiber } = yield* start({ timeout: 10_000 })
      yield* TestClock.adjust("1 hour")
      expect(yield* Fiber.join(fiber)).toMatchObject({ at: 9_999, outcome: { status: "completed" } })
    }).pipe(provide(script))
  })
})

describe("the silence of a task", () => {
  const silent = (ms: number) => ({ text: "at last", delay: { first: ms } })
  const patient = { deadlines: { connect: 3_600_000, first_event: 3_600_000, idle: 3_600_000 } }
  const layer = (scripts: SkeinTest.Scripts) =>
    SkeinTest.layer(scripts, { agents, tools: [asking, slow], config: patient })
  const slow = SkeinTest.tool("slow", () => Effect.as(Effect.sleep("20 minutes"), "waited"))

  it.effect("ends it after ten minutes without a sign of life", () => {
    const script = Scripted.make({ worker: [silent(1_200_000)] })
    return Effect.gen(function*() {
      const { fiber, id } = yield* start({ timeout: 3_600_000 })
      yield* TestClock.adjust("1 hour")
      expect(yield* Fiber.join(fiber)).toMatchObject({
        at: 600_000,
        outcome: { status: "timed_out", which: "idle", after: 600_000 }
      })
      yield* expectStill(id, script)
    }).pipe(Effect.provide(layer(script)))
  })

  it.effect("is measured again after each sign, and not while a tool or its own task runs", () => {
    const script = Scripted.make({
      lead: [
        { ...Scripted.call("slow", {}), delay: { first: 500_000 } },
        { ...Scripted.tasks({ worker: "p" }), delay: { first: 500_000 } },
        silent(500_000)
      ],
      worker: [Scripted.call("slow", {}), silent(500_000)]
    })
    return Effect.gen(function*() {
      const { fiber } = yield* start({ agent: "lead", timeout: 36_000_000 })
      yield* TestClock.adjust("10 hours")
      expect((yield* Fiber.join(fiber)).outcome).toMatchObject({ status: "completed", text: "at last" })
    }).pipe(Effect.provide(layer(script)))
  })
})

describe("a task that fails", () => {
  const again = [SkeinTest.agent("worker", { maxRetries: 2 })]
  const provided = (scripts: SkeinTest.Scripts) => Effect.provide(SkeinTest.layer(scripts, { agents: again }))
  const refused = Scripted.fault("invalid_request")

  it.effect("is retried in the same session, and knows why", () => {
    const script = Scripted.make({ worker: [refused, refused, "third time lucky"] })
    return Effect.gen(function*() {
      const { fiber, id } = yield* start({})
      const { outcome } = yield* Fiber.join(fiber)
      expect(outcome).toMatchObject({ status: "completed", text: "third time lucky" })
      expect(yield* childrenOf(id)).toHaveLength(1)
      expect(Scripted.lastText(script.requests[2]!)).toContain(
        "The last attempt at this task failed: scripted invalid_request\n"
      )
      yield* expectStill(id, script)
    }).pipe(provided(script))
  })

  it.effect("fails when all tries are used up", () => {
    const script = Scripted.make({ worker: [refused, refused, refused, "never"] })
    return Effect.gen(function*() {
      const { fiber } = yield* start({})
      expect((yield* Fiber.join(fiber)).outcome).toMatchObject({ status: "failed" })
      expect(script.requests).toHaveLength(3)
    }).pipe(provided(script))
  })
})
