import { describe, expect, it } from "@effect/vitest"
import { Budget } from "@skein/core/Budget"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Task from "@skein/core/Task"
import type { Budget as Limit } from "@skein/domain/Budget"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { failing, lookOn, options, sessionOf, spawn, uses } from "./support/budgets.ts"
import { callsMade, expectStill, messagesOf, resultOf, root } from "./support/tree.ts"

const ask = SkeinTest.tool("ask", () => Effect.succeed("asked"), {
  authorise: () => Effect.succeed([{ permission: "ask", patterns: ["*"], always: [], metadata: {} }])
})

describe("a budget of a root", () => {
  for (
    const [which, limit, requests] of [
      ["tokens", { tokens: 31_000 }, 3],
      ["usd", { usd: "0.0325" }, 3],
      ["steps", { steps: 4 }, 4]
    ] as const
  ) {
    it.effect(`of ${which} ends the turn before the request that would exceed it`, () => {
      const script = Scripted.make({ build: lookOn(10_000) })
      return Effect.gen(function*() {
        const { id } = yield* root({ budget: limit })
        const error = yield* failing(id)
        expect(error).toMatchObject({ _tag: "BudgetExhausted", which, holder: id, text: `look ${requests - 1}` })
        expect(script.requests).toHaveLength(requests)
        yield* expectStill(id, script)
      }).pipe(Effect.provide(SkeinTest.layer(script, options)))
    })
  }

  it.effect("of time counts working time, and not the time that a person takes", () => {
    const slow = Scripted.make({
      build: (request) => ({
        ...Scripted.call("ask", { at: request.origin.step }),
        delay: { connect: 600 }
      })
    })
    return Effect.gen(function*() {
      const permission = yield* Permission
      const { id } = yield* root({ budget: { time: 1_000 } })
      const events = yield* record()
      const fiber = yield* Effect.fork(failing(id))
      yield* TestClock.adjust(600)
      const first = yield* events.first("permission.asked")
      yield* TestClock.adjust(3_600_000)
      yield* permission.reply(first.properties.id, "once")
      yield* TestClock.adjust(600)
      const second = yield* events.first("permission.asked", (event) => event.id !== first.id)
      yield* TestClock.adjust(3_600_000)
      yield* permission.reply(second.properties.id, "once")
      expect(yield* Fiber.join(fiber)).toMatchObject({ which: "time" })
      expect(slow.requests).toHaveLength(2)
      expect((yield* sessionOf(id)).budget?.spent.time).toBe(1_200)
    }).pipe(Effect.scoped, Effect.provide(SkeinTest.layer(slow, { tools: [ask], asks: "person" })))
  })

  it.effect("of tasks refuses the next one, and the agent continues without it", () => {
    const script = Scripted.make({
      build: [Scripted.tasks({ worker: "a" }, { worker: "b" }, { worker: "c" }), "done"],
      worker: ["found"]
    })
    return Effect.gen(function*() {
      const { id } = yield* root({ budget: { tasks: 2 } })
      expect((yield* Session.prompt(id, "Go")).text).toBe("done")
      const answers = (yield* callsMade(id)).map(resultOf)
      expect(answers.filter((text) => text.includes("<task_result>"))).toHaveLength(2)
      expect(answers[2]).toContain("The budget of 2 tasks does not suffice for another task")
      expect((yield* sessionOf(id)).budget?.spent.tasks).toBe(2)
    }).pipe(Effect.provide(SkeinTest.layer(script, options)))
  })

  it.effect("applies to everything below it: a task ends as budget_exhausted with its partial result, and so does the root", () => {
    const script = Scripted.make({
      build: [{ ...Scripted.tasks({ worker: "a" }), ...uses(1_000) }, { text: "never", ...uses(1_000) }],
      worker: lookOn(10_000)
    })
    return Effect.gen(function*() {
      const { id } = yield* root({ budget: { tokens: 32_000 } })
      const error = yield* failing(id)
      expect(error).toMatchObject({ _tag: "BudgetExhausted", which: "tokens" })
      const [answer] = (yield* callsMade(id)).map(resultOf)
      expect(answer).toContain("state: budget_exhausted")
      expect(answer).toContain("The budget of 32000 tokens is exhausted.")
      expect(answer).toContain("<task_result>\nlook 2\n</task_result>")
      expect((yield* sessionOf(id)).budget?.spent.tokens).toBe(31_000)
      yield* expectStill(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, options)))
  })

  it.effect("warns the model once when 80 % are used", () => {
    const script = Scripted.make({ build: lookOn(10_000) })
    return Effect.gen(function*() {
      const { id } = yield* root({ budget: { tokens: 101_000 } })
      yield* failing(id)
      const reminders = (yield* messagesOf(id)).flatMap(({ parts }, at) =>
        parts.flatMap((part) => part.type === "text" && part.synthetic === true ? [{ at, text: part.text }] : [])
      )
      expect(reminders).toHaveLength(1)
      expect(reminders[0]?.text).toContain("90000 of 101000 tokens, for this session and all below it")
      // The prompt and nine answers come before it.
      expect(reminders[0]?.at).toBe(10)
    }).pipe(Effect.provide(SkeinTest.layer(script, options)))
  })

  it.effect("warns every working agent below it", () => {
    const script = Scripted.make({
      build: [
        ...Array.from({ length: 7 }, (_, at) => ({ ...Scripted.call("look", { at }), ...uses(10_000) })),
        { ...Scripted.tasks({ worker: "a" }), ...uses(10_000) },
        { text: "done", ...uses(1_000) }
      ],
      worker: [{ text: "found", ...uses(1_000) }]
    })
    return Effect.gen(function*() {
      const { id } = yield* root({ budget: { tokens: 100_000 } })
      yield* Session.prompt(id, "Go")
      const warned = script.requests.filter((request) => Scripted.lastText(request).includes("More than 80 %"))
      expect(warned.map(({ origin }) => origin.path.join("/"))).toEqual(["build/worker", "build"])
      expect(Scripted.lastText(warned[0] as never)).toContain(`80000 of 100000 tokens, for the session ${id} above`)
    }).pipe(Effect.provide(SkeinTest.layer(script, options)))
  })

  it.effect("is kept across a restart, until it is replaced", () => {
    const script = Scripted.make({ build: [{ text: "one", ...uses(10_000) }] })
    return Effect.gen(function*() {
      const storage = Layer.succeed(SessionStorage, yield* SessionStorage)
      const later = <A, E>(effect: Effect.Effect<A, E, Session>) =>
        Effect.zipRight(TestClock.adjust(10), Effect.provide(effect, SkeinTest.layer(script, { storage })))
      const { id } = yield* later(root({ budget: { tokens: 30_500 } }))
      for (let i = 0; i < 3; i++) yield* later(Session.prompt(id, "Go"))
      expect(yield* later(failing(id))).toMatchObject({ _tag: "BudgetExhausted", which: "tokens" })
      expect(script.requests).toHaveLength(3)
      expect((yield* later(Session.prompt(id, "Go", { budget: { tokens: 15_000 } }))).text).toBe("one")
      expect((yield* later(sessionOf(id))).budget?.spent.tokens).toBe(10_000)
    }).pipe(Effect.provide(SessionStorage.layerMemory))
  })

  it.effect("comes from the config for sessions without their own", () => {
    const script = Scripted.make({ build: lookOn(10_000) })
    return Effect.gen(function*() {
      const { id } = yield* root()
      expect(yield* failing(id)).toMatchObject({ which: "steps" })
      expect(script.requests).toHaveLength(2)
    }).pipe(Effect.provide(SkeinTest.layer(script, { ...options, config: { budget: { steps: 2 } } })))
  })
})

describe("a title", () => {
  it.effect("pays for the title, which is not requested if the budget cannot be enforced", () => {
    const title = { text: "A name", ...uses(3_000), delay: { first: 10 } }
    const untitled = (budget: Limit, info = {}) => {
      const script = Scripted.make({ build: [{ text: "done", ...uses(10_000) }], title: [title] }, info)
      return Effect.gen(function*() {
        const { id } = yield* Session.create({ directory: "/work", agent: "build" })
        yield* Effect.exit(Session.prompt(id, "Go", { budget }))
        yield* TestClock.adjust(1_000)
        const { budget: account, title: name } = yield* sessionOf(id)
        return { tokens: account?.spent.tokens, name, steps: account?.spent.steps }
      }).pipe(Effect.provide(SkeinTest.layer(script, { titles: true })))
    }
    return Effect.gen(function*() {
      expect(yield* untitled({ tokens: 100_000 })).toEqual({ tokens: 13_000, name: "A name", steps: 1 })
      expect(yield* untitled({ usd: "1" }, { price: { input: "unknown", output: "1" } })).toMatchObject({ name: "Go" })
    })
  })
})

describe("a summary", () => {
  it.effect("pays for no title once it is used up", () => {
    const script = Scripted.make({ build: [{ text: "done", ...uses(10_000) }], summary: ["never asked"] })
    return Effect.gen(function*() {
      const { id } = yield* root({ budget: { tokens: 10_500 } })
      yield* Session.prompt(id, "Go")
      const error = yield* Effect.flip(Effect.flatMap(Session, (session) => session.summarize(id)))
      expect(error.message).toContain("does not suffice for another request: 10000 are used")
      expect(script.requests).toHaveLength(1)
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })
})

describe("a budget that cannot be enforced", () => {
  it.effect("of money is refused if the model has no known price", () => {
    const script = Scripted.make({ build: ["done"] }, { price: { input: "unknown", output: "1" } })
    return Effect.gen(function*() {
      const { id } = yield* root()
      expect(yield* failing(id, { usd: "1" })).toMatchObject({
        _tag: "ModelUnavailable",
        reason: "unknown_price",
        message: expect.stringContaining("provider.scripted.models.model.price")
      })
      expect(script.requests).toHaveLength(0)
      expect((yield* Session.prompt(id, "Go", { budget: { steps: 1 } })).text).toBe("done")
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })

  it.effect("is refused if it is invalid: zero, negative, not a number, or of another type", () => {
    const script = Scripted.make({ build: ["done"], worker: ["done"] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const wrong = [
        { tokens: 0 },
        { tokens: -1 },
        { tokens: Number.NaN },
        { tokens: 1.5 },
        { usd: "0" },
        { usd: "0.00" },
        { usd: "-1" },
        { usd: "1e3" },
        { usd: "much" },
        { steps: Number.POSITIVE_INFINITY },
        { time: 0 },
        { tasks: -3 },
        { token: 5 }
      ] as ReadonlyArray<Limit>
      for (const budget of wrong) {
        const errors = [
          yield* failing(id, budget),
          yield* Effect.flip(root({ budget })),
          yield* Effect.flip(Effect.flatMap(Budget, (service) => service.set(id, budget))),
          yield* Effect.flip(spawn(id, "worker", { budget }))
        ]
        expect(errors.map(({ _tag }) => _tag)).toEqual([
          "BudgetInvalid",
          "BudgetInvalid",
          "BudgetInvalid",
          "TaskRefused"
        ])
        for (const { message } of errors) expect(message).toContain("A budget has amounts above 0")
      }
      expect(script.requests).toHaveLength(0)
      expect(yield* messagesOf(id)).toEqual([])
    }).pipe(Effect.provide(SkeinTest.layer(script, options)))
  })
})

describe("Budget", () => {
  it.effect("sets, shows and lifts the limit of a session and those below it", () => {
    const script = Scripted.make({ build: [{ text: "one", ...uses(10_000) }] })
    return Effect.gen(function*() {
      const budget = yield* Budget
      const { id } = yield* root()
      expect(yield* budget.of(id)).toEqual([])
      yield* budget.set(id, { tokens: 10_500 })
      yield* Session.prompt(id, "Go")
      expect(yield* budget.of(id)).toMatchObject([{
        sessionID: id,
        limit: { tokens: 10_500 },
        spent: { tokens: 10_000, usd: "0.0105", steps: 1, tasks: 0 }
      }])
      expect(yield* failing(id)).toMatchObject({ which: "tokens" })
      yield* budget.set(id, undefined)
      expect((yield* Session.prompt(id, "Go")).text).toBe("one")
      expect((yield* sessionOf(id)).budget).toBeUndefined()
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })

  it.effect("limits a program's task", () => {
    const script = Scripted.make({ worker: lookOn(10_000) })
    return Effect.gen(function*() {
      const error = yield* Effect.flip(Task.run({ agent: "worker", prompt: "Go", budget: { tokens: 21_000 } }))
      expect(error).toMatchObject({
        _tag: "BudgetExhausted",
        which: "tokens",
        text: "look 1"
      })
    }).pipe(Effect.provide(SkeinTest.layer(script, options)))
  })
})
