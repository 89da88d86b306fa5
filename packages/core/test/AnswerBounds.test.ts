import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { Tasks } from "@skein/core/Tasks"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { callsMade, expectStill, messagesOf, root } from "./support/tree.ts"

const deep = (levels: number): string => `{"words":${"[".repeat(levels)}${"]".repeat(levels)}}`
const calls = (count: number, raw?: string) =>
  Array.from({ length: count }, (_, n) => ({ tool: "echo", raw: raw ?? `{"n":${n}}` }))

/** Prompts an agent whose first answer is this one; returns also what later requests said. */
const asked = (answer: Scripted.ScriptedStep) => {
  let ran = 0
  const echo = SkeinTest.tool("echo", () => Effect.sync(() => `${ran++}`))
  const script = Scripted.make({ build: [answer, "Well."] })
  return Effect.gen(function*() {
    const { id } = yield* root()
    const result = yield* Effect.either(Session.prompt(id, "Go"))
    const made = yield* callsMade(id)
    const messages = yield* messagesOf(id)
    const requests = script.requests.length
    const next = yield* Session.prompt(id, "Again")
    yield* expectStill(id, script)
    return { result, made, ran, messages, requests, next, sent: script.requests.at(-1)?.messages }
  }).pipe(Effect.provide(SkeinTest.layer(script, { tools: [echo], asks: "auto" })))
}

describe("an answer within its bounds", () => {
  it.effect("is accepted with the maximum number, depth and length of calls", () =>
    Effect.gen(function*() {
      expect((yield* asked({ calls: calls(200) })).ran).toBe(200)
      expect((yield* asked({ calls: calls(1, deep(99)) })).result._tag).toBe("Right")
      expect((yield* asked({ text: "x".repeat(2_000_000) })).result._tag).toBe("Right")
    }))
})

describe("an answer that is too large", () => {
  for (
    const [name, answer, bound] of [
      ["201 calls", { text: "Begun.", calls: calls(201) }, "calls"],
      ["text", { text: "Begun.".padEnd(2_000_001) }, "text"],
      ["arguments", { text: "Begun.", calls: calls(2, `{"a":"${"x".repeat(600_000)}"}`) }, "arguments"],
      ["nesting", { text: "Begun.", calls: [...calls(1), ...calls(1, deep(100))] }, "nesting"]
    ] as const
  ) {
    it.effect(`fails by its ${name}, is requested once, and none of it runs`, () =>
      Effect.gen(function*() {
        const { made, messages, next, ran, requests, result, sent } = yield* asked(answer)
        expect(result).toMatchObject({
          left: {
            _tag: "ModelError",
            reason: "AnswerTooLarge",
            message: expect.stringContaining(`limits.answer.${bound}`)
          }
        })
        expect({ made, ran, requests }).toEqual({ made: [], ran: 0, requests: 1 })
        expect(messages.at(-1)?.info).toMatchObject({ error: { tag: "AnswerTooLarge" } })
        expect(next.text).toBe("Well.")
        expect(JSON.stringify(sent).length).toBeLessThan(20_000)
      }))
  }

  it.effect("fails its task", () => {
    const script = Scripted.make({ explore: [{ calls: calls(201) }] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const tasks = yield* Tasks
      const outcome = yield* tasks.run({ parentID: id, agent: "explore", description: "d", prompt: "p", byUser: false })
      expect(outcome).toMatchObject({ status: "failed", error: { tag: "AnswerTooLarge" } })
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })

  it.effect("is measured by the config", () => {
    const script = Scripted.make({ build: [{ calls: calls(2) }] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      expect(yield* Effect.flip(Session.prompt(id, "Go"))).toMatchObject({
        message: expect.stringContaining("more than 1 calls")
      })
    }).pipe(Effect.provide(SkeinTest.layer(script, { config: { limits: { answer: { calls: 1 } } } })))
  })
})
