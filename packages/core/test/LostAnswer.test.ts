import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { expectStill, messagesOf, root } from "./support/tree.ts"

const nothing: Scripted.ScriptedStep = { text: "", tokens: { input: 90, output: 10 } }

/** Prompts a session with a budget; returns the result, and the usage of the session, its budget, and the answer. */
const asked = (build: ReadonlyArray<Scripted.ScriptedStep | string>) => {
  const script = Scripted.make({ build })
  return Effect.gen(function*() {
    const { id } = yield* root({ budget: { tokens: 100_000 } })
    const fiber = yield* Effect.fork(Effect.either(Session.prompt(id, "Go")))
    yield* TestClock.adjust("1 hour")
    const result = yield* Fiber.join(fiber)
    const { budget, usage } = yield* Effect.flatMap(Session, (session) => session.get(id))
    const answer = (yield* messagesOf(id)).map(({ info }) => info).at(-1)
    yield* expectStill(id, script)
    return { result, used: usage.own, spent: budget?.spent, answer: answer?.role === "assistant" ? answer : undefined }
  }).pipe(Effect.provide(SkeinTest.layer(script)))
}

describe("a failed answer", () => {
  it.effect("counts together with the one that replaced it", () =>
    Effect.gen(function*() {
      const { answer, result, spent, used } = yield* asked([nothing, { text: "well", tokens: { input: 5, output: 5 } }])
      expect(result).toMatchObject({ right: { text: "well", usage: { tokens: { input: 95, output: 15 }, steps: 2 } } })
      expect(used).toMatchObject({ tokens: { input: 95, output: 15 }, cost: "0.000125", steps: 2 })
      expect(spent).toMatchObject({ tokens: 110, usd: "0.000125" })
      expect(answer?.usage).toEqual(used)
    }))

  it.effect("counts if it is the last one", () =>
    Effect.gen(function*() {
      const { answer, result, spent, used } = yield* asked([nothing])
      expect(result).toMatchObject({ left: { _tag: "ModelError", reason: "empty_response" } })
      expect(used).toMatchObject({ tokens: { input: 180, output: 20 }, steps: 2, toolCalls: 0 })
      expect(spent).toMatchObject({ tokens: 200 })
      expect(answer?.usage).toEqual(used)
    }))

  it.effect("counts as an estimate if its usage is unknown", () =>
    Effect.gen(function*() {
      const { spent, used } = yield* asked([Scripted.fault("network", {}, { text: "half" }), "well"])
      expect(used).toMatchObject({ tokens: { output: 6 }, steps: 2, estimated: true })
      expect(used.tokens.input).toBeGreaterThan(10 + 1_000)
      expect(spent).toMatchObject({ tokens: used.tokens.input + used.tokens.output, steps: 2 })
    }))
})
