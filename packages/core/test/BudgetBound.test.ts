import { describe, expect, it } from "@effect/vitest"
import { Budget } from "@skein/core/Budget"
import type { ModelRequest } from "@skein/core/Provider"
import type { Budget as Limit } from "@skein/domain/Budget"
import type { Outcome } from "@skein/domain/Outcome"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { stride } from "@skein/testing/Seeds"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { sessionOf, spawn, worker } from "./support/budgets.ts"
import { expectStill, root } from "./support/tree.ts"

/** As many tokens as a provider would count for the input of a request. */
const inputOf = ({ messages, tools }: ModelRequest): number =>
  Math.ceil((JSON.stringify(messages).length + JSON.stringify(tools).length) / 4)

/** Answers of 10 to 8,000 tokens, the same in every execution. */
const lengths = (count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, i) => 10 + (i * 7_919) % 7_991)

const numberIn = (request: ModelRequest): number =>
  Number(/part (\d+)/.exec(JSON.stringify(request.messages.findLast(({ role }) => role === "user")))?.[1] ?? 0)

const saying = (output: number, request: ModelRequest): Scripted.ScriptedStep => ({
  text: "word ".repeat(Math.ceil(output / 2)),
  tokens: { input: inputOf(request), output },
  delay: { connect: 100, first: output }
})

/** Runs parts in parallel below a root with this budget; returns their outcomes and the usage. */
const crowd = (count: number, limit: Limit) => {
  const outputs = lengths(count)
  const script = Scripted.make({
    build: ["done"],
    worker: (request) => saying(outputs[numberIn(request)] ?? 10, request)
  })
  const config = { limits: { max_tasks: 1_000, concurrency: 16 } }
  return Effect.gen(function*() {
    const { id } = yield* root({ budget: limit })
    const fiber = yield* Effect.fork(Effect.forEach(
      outputs,
      (_, i) => spawn(id, "worker", { description: `part ${i}`, prompt: `part ${i}` }),
      { concurrency: "unbounded" }
    ))
    yield* TestClock.adjust("2 hours")
    const outcomes = yield* Fiber.join(fiber)
    yield* expectStill(id, script)
    const { budget } = yield* sessionOf(id)
    const [status] = yield* Effect.flatMap(Budget, (service) => service.of(id))
    expect(status?.kept).toEqual({})
    return {
      outcomes,
      spent: budget?.spent,
      most: script.open.most,
      demand: outputs.reduce((a, b) => a + b, 0),
      script
    }
  }).pipe(Effect.provide(SkeinTest.layer(script, { agents: [worker], config })))
}

const counts = (outcomes: ReadonlyArray<Outcome>) => ({
  completed: outcomes.filter(({ status }) => status === "completed").length,
  exhausted: outcomes.filter(({ status }) => status === "budget_exhausted").length
})

describe("a budget of tokens that many tasks share", () => {
  const crowds = stride === 1 ? [16, 64, 256] : [16, 64]
  it.effect.each(crowds.flatMap((count) => [[count, 0.25], [count, 0.5]] as const))(
    "is not exceeded by %i parallel tasks that want more, and nearly all of it is used (%f of the demand)",
    ([count, share]) =>
      Effect.gen(function*() {
        const tokens = Math.floor(lengths(count).reduce((a, b) => a + b, 0) * share)
        const { most, outcomes, spent } = yield* crowd(count, { tokens })
        const used = Number(spent?.tokens)
        const { completed, exhausted } = counts(outcomes)
        expect(completed + exhausted).toBe(count)
        expect(exhausted).toBeGreaterThan(0)
        expect(used).toBeLessThanOrEqual(tokens * 1.03)
        expect(used).toBeGreaterThanOrEqual(tokens - 1_000)
        expect(most).toBeGreaterThan(1)
      })
  )

  it.effect("limits money as well, by the prices of the model", () =>
    Effect.gen(function*() {
      const { outcomes, spent } = yield* crowd(16, { usd: "0.05" })
      expect(counts(outcomes).exhausted).toBeGreaterThan(0)
      expect(Number(spent?.usd)).toBeLessThanOrEqual(0.0515)
      expect(Number(spent?.usd)).toBeGreaterThanOrEqual(0.045)
    }))

  it.effect("lets all of them run in parallel if it suffices", () =>
    Effect.gen(function*() {
      const { most, outcomes } = yield* crowd(64, { tokens: 2_000_000 })
      expect(counts(outcomes)).toEqual({ completed: 64, exhausted: 0 })
      expect(most).toBe(16)
    }))
})
