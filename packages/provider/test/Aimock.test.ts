import { LLMock } from "@copilotkit/aimock"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Scope } from "effect/Scope"
import * as Anthropic from "../src/Anthropic.ts"
import * as Google from "../src/Google.ts"
import * as OpenAi from "../src/OpenAi.ts"
import * as OpenAiCompatible from "../src/OpenAiCompatible.ts"
import type { Vendor } from "../src/Vendor.ts"
import { ask, callsOf, finishOf, textOf } from "./support/Server.ts"

const apiKey = Redacted.make("sk-test-SECRET")

const vendors: Readonly<Record<string, (url: string) => Effect.Effect<Vendor, never, Scope>>> = {
  chat: (url) => OpenAi.make({ baseUrl: `${url}/v1`, apiKey }),
  responses: (url) => OpenAi.make({ baseUrl: `${url}/v1`, apiKey, api: "responses" }),
  compatible: (url) => OpenAiCompatible.make({ id: "corp", baseUrl: `${url}/v1`, apiKey }),
  anthropic: (baseUrl) => Anthropic.make({ baseUrl, apiKey }),
  google: (baseUrl) => Google.make({ baseUrl, apiKey })
}

const mock = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = new LLMock({ port: 0, logLevel: "silent" })
    await server.start()
    return server
  }),
  (server) => Effect.promise(() => server.stop())
)

/** A server by other authors, from the same documentation. */
describe.each(Object.entries(vendors))("an independent server, %s", (_api, make) => {
  const setup = Effect.gen(function*() {
    const server = yield* mock
    const vendor = yield* make(server.url)
    return { server, model: yield* vendor.model("gpt-4o") }
  })

  it.scoped("answers with text", () =>
    Effect.gen(function*() {
      const { model, server } = yield* setup
      server.onMessage("hello", { content: "Hi there, € and \u{1F600}!" })
      const asked = yield* ask(model)
      expect(asked.error).toBeUndefined()
      expect(textOf(asked)).toBe("Hi there, € and \u{1F600}!")
      expect(finishOf(asked)).toMatchObject({ finish: "stop" })
    }))

  it.scoped("calls tools, and reads their results", () =>
    Effect.gen(function*() {
      const { model, server } = yield* setup
      server.on({ userMessage: "hello", hasToolResult: false }, {
        toolCalls: [
          { id: "call_1", name: "bash", arguments: "{\"command\":\"ls\"}" },
          { id: "call_2", name: "bash", arguments: "{\"command\":\"pwd\"}" }
        ]
      })
      server.on({ userMessage: "hello", hasToolResult: true }, { content: "done" })
      const first = yield* ask(model)
      expect(callsOf(first).map(({ input }) => input)).toEqual(["{\"command\":\"ls\"}", "{\"command\":\"pwd\"}"])
      expect(finishOf(first)).toMatchObject({ finish: "tool-calls" })
      const calls = callsOf(first).map((call) => ({
        type: "tool-call" as const,
        toolCallId: call.id,
        toolName: call.name,
        input: JSON.parse(call.input)
      }))
      const second = yield* ask(model, {
        messages: [
          { role: "user", content: [{ type: "text", text: "hello" }] },
          { role: "assistant", content: calls },
          {
            role: "tool",
            content: calls.map(({ toolCallId, toolName }) => ({
              type: "tool-result",
              toolCallId,
              toolName,
              output: { type: "text", value: "ok" }
            }))
          }
        ]
      })
      expect(textOf(second)).toBe("done")
    }))

  it.scoped("refuses, and the error has the kind of the refusal", () =>
    Effect.gen(function*() {
      const { model, server } = yield* setup
      server.nextRequestError(429, { message: "slow down", type: "rate_limit_error" })
      expect((yield* ask(model)).error).toMatchObject({ reason: "rate_limit", retryable: true, status: 429 })
      server.nextRequestError(400, { message: "prompt is too long: 9 > 8", code: "context_length_exceeded" })
      expect((yield* ask(model)).error).toMatchObject({ reason: "context_overflow", retryable: false })
      server.nextRequestError(401, { message: "no such key" })
      expect((yield* ask(model)).error).toMatchObject({ reason: "auth", retryable: false })
    }))

  it.scoped.each([["disconnectRate", true], ["malformedRate", true], ["dropRate", true]] as const)(
    "under chaos (%s) it is a retryable error",
    ([mode, retryable]) =>
      Effect.gen(function*() {
        const { model, server } = yield* setup
        server.onMessage("hello", { content: "Hi there!" })
        server.setChaos({ [mode]: 1 })
        const { error } = yield* ask(model)
        expect(error?.retryable).toBe(retryable)
      })
  )
})
