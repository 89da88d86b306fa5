import { describe, expect, it } from "@effect/vitest"
import { Budget } from "@skein/core/Budget"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { Tasks } from "@skein/core/Tasks"
import type { Budget as Limit } from "@skein/domain/Budget"
import type { SessionID } from "@skein/domain/Id"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { lookOn, options, sessionOf, spawn, uses, worker } from "./support/budgets.ts"
import { childrenOf, expectStill, root } from "./support/tree.ts"

/** Runs parts in parallel below a root, each with its budget. */
const parts = (parentID: SessionID, budgets: ReadonlyArray<Limit | undefined>) =>
  Effect.forEach(
    budgets,
    (budget) => Effect.either(spawn(parentID, "worker", budget === undefined ? {} : { budget })),
    {
      concurrency: "unbounded"
    }
  )

const ended = (results: Effect.Effect.Success<ReturnType<typeof parts>>) =>
  results.map((result) => Either.isRight(result) ? result.right.status : result.left._tag)

describe("a budget of a task", () => {
  it.effect("ends that task with its partial work, and its siblings continue", () => {
    const script = Scripted.make({
      build: ["done"],
      worker: lookOn(10_000),
      other: [{ text: "found", ...uses(50_000) }]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const [small, free] = yield* Effect.all(
        [spawn(id, "worker", { budget: { tokens: 31_000 } }), spawn(id, "other")],
        {
          concurrency: 2
        }
      )
      expect(small).toMatchObject({ status: "budget_exhausted", which: "tokens", text: "look 2", usage: { steps: 3 } })
      expect(free).toMatchObject({ status: "completed", text: "found" })
      yield* expectStill(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { ...options, agents: [worker, SkeinTest.agent("other")] })))
  })

  it.effect("comes from the agent's definition, and starts again with each run of the task", () => {
    const script = Scripted.make({ build: ["done"], worker: lookOn(10_000) })
    const agents = [SkeinTest.agent("worker", { budget: { steps: 2 } })]
    return Effect.gen(function*() {
      const { id } = yield* root()
      const first = yield* spawn(id, "worker")
      expect(first).toMatchObject({ status: "budget_exhausted", which: "steps", usage: { steps: 2 } })
      const again = yield* Effect.flatMap(Tasks, (tasks) =>
        tasks.run({
          parentID: id,
          agent: "worker",
          description: "part",
          prompt: "Go on",
          taskID: first.taskID,
          byUser: false
        }))
      expect(again).toMatchObject({ status: "budget_exhausted", which: "steps", usage: { steps: 2 } })
      // Later messages of a user are not limited by the budget of its runs.
      expect((yield* sessionOf(first.taskID)).budget).toBeUndefined()
    }).pipe(Effect.provide(SkeinTest.layer(script, { ...options, agents })))
  })

  it.effect("is capped by what is left above it", () => {
    const script = Scripted.make({ build: lookOn(10_000), worker: lookOn(10_000) })
    return Effect.gen(function*() {
      const { id } = yield* root({ budget: { tokens: 41_000, usd: "100" } })
      const events = yield* record()
      expect(yield* spawn(id, "worker", { budget: { tokens: 1_000_000 } })).toMatchObject({
        status: "budget_exhausted",
        usage: { steps: 4 }
      })
      const run = yield* events.first("subagent.created")
      const storage = yield* SessionStorage
      const [row] = (yield* storage.runs({ rootID: id })).rows
      expect(row?.id).toBe(run.properties.run_id)
      expect(row?.budget).toEqual({ tokens: 41_000 })
    }).pipe(Effect.scoped, Effect.provide(SkeinTest.layer(script, options)))
  })

  it.effect("is reserved: others cannot reserve it, and the unused part is released", () => {
    const script = Scripted.make({
      build: ["done"],
      worker: [{ text: "found", ...uses(10_000), delay: { connect: 100 } }]
    })
    return Effect.gen(function*() {
      const budget = yield* Budget
      const { id } = yield* root({ budget: { tokens: 100_000 } })
      const fiber = yield* Effect.fork(
        parts(id, [{ tokens: 60_000 }, { tokens: 30_000 }, { tokens: 30_000 }, { tokens: 30_000 }])
      )
      yield* TestClock.adjust(50)
      const [status] = yield* budget.of(id)
      expect(status).toMatchObject({ sessionID: id, limit: { tokens: 100_000 }, kept: { tokens: "100000" } })
      yield* TestClock.adjust(50)
      expect(ended(yield* Fiber.join(fiber))).toEqual(["completed", "completed", "completed", "TaskRefused"])
      expect((yield* budget.of(id))[0]).toMatchObject({ spent: { tokens: 30_000 }, kept: {} })
      expect(ended(
        yield* Effect.zipLeft(Effect.fork(parts(id, [{ tokens: 70_000 }])), TestClock.adjust(100)).pipe(
          Effect.flatMap(Fiber.join)
        )
      )).toEqual(["completed"])
    }).pipe(Effect.provide(SkeinTest.layer(script, options)))
  })

  it.effect("leaves its caller nothing of the reservation: the caller reports that it waits, and continues when the task has settled", () => {
    const script = Scripted.make({
      build: [
        {
          calls: [{
            tool: "task",
            input: {
              description: "part",
              prompt: "Do it",
              subagent_type: "worker",
              background: true
            }
          }],
          ...uses(10_000)
        },
        { text: "done", ...uses(1_000) }
      ],
      worker: [{ text: "found", ...uses(10_000), delay: { connect: 100 } }]
    })
    const agents = [SkeinTest.agent("worker", { budget: { tokens: 500_000 } })]
    return Effect.gen(function*() {
      const { id } = yield* root({ budget: { tokens: 100_000 } })
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust(50)
      expect(yield* Effect.flatMap(Session, (session) => session.status(id))).toMatchObject({
        type: "waiting",
        which: "tokens",
        message: expect.stringContaining("0 of 100000 tokens for this session and all below it are free")
      })
      yield* TestClock.adjust(50)
      expect((yield* Fiber.join(fiber)).text).toBe("done")
      expect(script.requests.map(({ origin }) => origin.path.length)).toEqual([1, 2, 1, 1])
      yield* expectStill(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { ...options, agents })))
  })

  it.effect("is refused if its prompt needs more than is left", () => {
    const script = Scripted.make({
      build: [{ text: "done", ...uses(40_000) }],
      worker: [{ text: "found", ...uses(100) }]
    })
    return Effect.gen(function*() {
      const { id } = yield* root({ budget: { tokens: 100_000 } })
      yield* Session.prompt(id, "Go")
      const refusal = yield* Effect.flip(spawn(id, "worker", { prompt: "word ".repeat(100_000) }))
      expect(refusal).toMatchObject({ _tag: "TaskRefused", reason: "budget" })
      expect(refusal.message).toContain("The budget of 100000 tokens does not suffice for another task: 40000 are used")
      expect(yield* childrenOf(id)).toHaveLength(0)
      expect((yield* spawn(id, "worker")).status).toBe("completed")
    }).pipe(Effect.provide(SkeinTest.layer(script, options)))
  })
})
