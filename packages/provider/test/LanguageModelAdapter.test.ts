import type { LanguageModelV3, LanguageModelV3StreamPart } from "@ai-sdk/provider"
import { describe, expect, it } from "@effect/vitest"
import { extractReasoningMiddleware, simulateReadableStream, wrapLanguageModel } from "ai"
import { MockLanguageModelV3 } from "ai/test"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import * as LanguageModelAdapter from "../src/LanguageModelAdapter.ts"
import { ask, callsOf, finishOf, request, textOf } from "./support/Server.ts"

const info = { providerID: "mock", modelID: "m" }

const usage = (input: number | undefined, output: number | undefined) => ({
  inputTokens: { total: input, noCache: input, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: output, text: output, reasoning: undefined }
})

const finish = (
  unified: "stop" | "tool-calls" | "other" | "error" = "stop",
  raw?: string
): LanguageModelV3StreamPart => ({
  type: "finish",
  finishReason: { unified, raw },
  usage: usage(1, 2)
})

const mock = (...chunks: ReadonlyArray<LanguageModelV3StreamPart>) =>
  new MockLanguageModelV3({
    doStream: async () => ({
      stream: simulateReadableStream({ chunks: [...chunks], initialDelayInMs: null, chunkDelayInMs: null })
    })
  })

const failing = (error: unknown) =>
  new MockLanguageModelV3({
    doStream: async () => {
      throw error
    }
  })

const adapt = (model: LanguageModelV3, options: Partial<LanguageModelAdapter.AdapterOptions> = {}) =>
  LanguageModelAdapter.make({ model, info, ...options })

const refusal = (statusCode: number, extra: object = {}) =>
  Object.assign(new Error("no"), { name: "AI_APICallError", statusCode, isRetryable: false, ...extra })

describe("LanguageModelAdapter", () => {
  it.effect("emits every part as an event, and unused ones as a sign of life", () =>
    Effect.gen(function*() {
      const { error, events } = yield* ask(adapt(mock(
        { type: "stream-start", warnings: [] },
        { type: "response-metadata", id: "r" },
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-delta", id: "r", delta: "hm" },
        { type: "reasoning-end", id: "r", providerMetadata: { openai: { itemId: "i" } } },
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: "" },
        { type: "text-delta", id: "t", delta: "yes" },
        { type: "text-end", id: "t" },
        { type: "tool-input-start", id: "c", toolName: "bash" },
        { type: "tool-input-delta", id: "c", delta: "{}" },
        { type: "tool-input-end", id: "c" },
        { type: "tool-call", toolCallId: "c", toolName: "bash", input: "{}" },
        { type: "tool-call", toolCallId: "w", toolName: "web_search", input: "{}", providerExecuted: true },
        { type: "source", sourceType: "url", id: "s", url: "https://example.test" },
        finish()
      )))
      expect(error).toBeUndefined()
      const activity = { type: "activity" }
      expect(events).toEqual([
        { type: "connected" },
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-delta", id: "r", delta: "hm" },
        { type: "reasoning-end", id: "r", metadata: { openai: { itemId: "i" } } },
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: "yes" },
        { type: "text-end", id: "t" },
        activity,
        activity,
        activity,
        activity,
        activity,
        { type: "tool-call", id: "c", name: "bash", input: "{}" },
        { type: "finish", finish: "stop", tokens: { input: 1, output: 2, reasoning: 0, cacheRead: 0, cacheWrite: 0 } }
      ])
    }))

  it.effect("collects what the provider wants back from the start, the pieces and the end of a part", () =>
    Effect.gen(function*() {
      const signed = (thoughtSignature: string) => ({ google: { thoughtSignature } })
      const { events } = yield* ask(adapt(mock(
        { type: "reasoning-start", id: "r", providerMetadata: { anthropic: { a: 1 } } },
        { type: "reasoning-delta", id: "r", delta: "hm" },
        { type: "reasoning-delta", id: "r", delta: "", providerMetadata: { anthropic: { signature: "sig" } } },
        { type: "reasoning-end", id: "r" },
        { type: "text-start", id: "t", providerMetadata: { openai: { itemId: "i" } } },
        { type: "text-delta", id: "t", delta: "yes", providerMetadata: signed("text") },
        { type: "text-end", id: "t" },
        { type: "tool-call", toolCallId: "c", toolName: "bash", input: "{}", providerMetadata: signed("call") },
        {
          type: "tool-call",
          toolCallId: "d",
          toolName: "bash",
          input: "{}",
          providerMetadata: { openai: { itemId: "i" } }
        },
        finish()
      )))
      expect(events.filter(({ type }) => /end|call/.test(type))).toEqual([
        { type: "reasoning-end", id: "r", metadata: { anthropic: { a: 1, signature: "sig" } } },
        { type: "text-end", id: "t", metadata: signed("text") },
        { type: "tool-call", id: "c", name: "bash", input: "{}", metadata: signed("call") },
        { type: "tool-call", id: "d", name: "bash", input: "{}" }
      ])
    }))

  it.effect("sends reasoning and signatures back to the model that made them, and to no other", () =>
    Effect.gen(function*() {
      const providerOptions = { google: { thoughtSignature: "sig" } }
      const said = (modelID: string) => ({
        role: "assistant" as const,
        model: { providerID: "mock", modelID },
        content: [
          { type: "reasoning" as const, text: "hm", providerOptions },
          { type: "text" as const, text: "yes", providerOptions },
          { type: "tool-call" as const, toolCallId: "c", toolName: "bash", input: {}, providerOptions }
        ]
      })
      const sdk = mock(finish())
      yield* ask(adapt(sdk), { messages: [said("m"), said("other")] })
      const [own, other] = sdk.doStreamCalls[0]?.prompt ?? []
      expect(own?.content).toEqual(said("m").content)
      expect(other?.content).toEqual([
        { type: "text", text: "yes" },
        { type: "tool-call", toolCallId: "c", toolName: "bash", input: {} }
      ])
    }))

  it.effect("tells no call of an answer that fails after it, and bounds those it holds back", () =>
    Effect.gen(function*() {
      const call = (id: number) => ({ type: "tool-call" as const, toolCallId: `c${id}`, toolName: "bash", input: "{}" })
      const cut = yield* ask(adapt(mock(call(1), { type: "error", error: "boom" })))
      expect(cut.error?.reason).toBe("server")
      expect(cut.events.map(({ type }) => type)).not.toContain("tool-call")
      const flood = yield* ask(adapt(mock(...Array.from({ length: 300 }, (_, id) => call(id)), finish())))
      expect(flood.error?.reason).toBe("AnswerTooLarge")
      expect(flood.events.map(({ type }) => type)).not.toContain("tool-call")
    }))

  it.effect("emits reasoning without text, because it has to go back to its provider", () =>
    Effect.gen(function*() {
      const { events } = yield* ask(adapt(mock(
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-end", id: "r", providerMetadata: { openai: { reasoningEncryptedContent: "x" } } },
        finish()
      )))
      expect(events.map(({ type }) => type)).toEqual([
        "connected",
        "reasoning-start",
        "reasoning-end",
        "finish"
      ])
    }))

  it.effect("ends a text that the provider left open", () =>
    Effect.gen(function*() {
      const { events } = yield* ask(adapt(mock({ type: "text-delta", id: "t", delta: "a\ud83d" }, finish())))
      expect(events.map((event) => event.type === "text-delta" ? event.delta : event.type)).toEqual([
        "connected",
        "text-start",
        "a",
        "\ufffd",
        "text-end",
        "finish"
      ])
    }))

  it.effect("an error part is final, whatever follows it", () =>
    Effect.gen(function*() {
      const { error, events } = yield* ask(adapt(mock(
        { type: "text-delta", id: "t", delta: "a" },
        { type: "error", error: "boom" },
        { type: "text-delta", id: "t", delta: "b" },
        finish()
      )))
      expect(error).toMatchObject({ reason: "server", retryable: true })
      expect(error?.message).toBe("mock/m reported an error: boom.")
      expect(textOf({ events, error })).toBe("a")
      expect(finishOf({ events, error })).toBeUndefined()
    }))

  it.effect("an end without a reason, or for an unknown one, is no whole answer, and none of its calls runs", () =>
    Effect.gen(function*() {
      const text: LanguageModelV3StreamPart = { type: "text-delta", id: "t", delta: "a" }
      expect((yield* ask(adapt(mock(text)))).error?.reason).toBe("bad_response")
      expect((yield* ask(adapt(mock(text, finish("other", undefined))))).error?.reason).toBe("bad_response")
      expect((yield* ask(adapt(mock(text, finish("error"))))).error?.reason).toBe("bad_response")
      expect((yield* ask(adapt(mock()))).error?.reason).toBe("empty_response")
      const unfinished = Object.assign(new Error("no"), { name: "AI_InvalidResponseDataError", data: undefined })
      expect((yield* ask(adapt(mock({ type: "error", error: unfinished })))).error?.reason).toBe("empty_response")
      const call: LanguageModelV3StreamPart = { type: "tool-call", toolCallId: "c", toolName: "bash", input: "{}" }
      for (const unified of ["other", "tool-calls"] as const) {
        for (const raw of ["network_error", "abort", "insufficient_system_resource", "whatever"]) {
          const asked = yield* ask(adapt(mock(text, call, finish(unified, raw))))
          expect(asked.error).toMatchObject({ reason: "bad_response", retryable: true })
          expect(asked.error?.message).toContain(raw)
          expect(callsOf(asked)).toEqual([])
        }
      }
      expect(finishOf(yield* ask(adapt(mock(text, finish("other", "eos")))))).toMatchObject({ finish: "stop" })
    }))

  it.effect("marks what to keep of a prompt for Claude, whatever package serves it, and for no other model", () =>
    Effect.gen(function*() {
      const control = { cacheControl: { type: "ephemeral" } }
      const point = { anthropic: control, openrouter: control, bedrock: { cachePoint: { type: "default" } } }
      for (
        const [modelID, marked] of [
          ["us.anthropic.claude-sonnet-5-5-v1:0", true],
          ["claude-opus-5@20260101", true],
          ["amazon.nova-pro-v1:0", false]
        ] as const
      ) {
        const model = mock(finish())
        const info = { providerID: "bedrock", modelID }
        yield* ask(LanguageModelAdapter.make({ model, info }))
        const [call] = model.doStreamCalls
        expect(call?.prompt.map(({ providerOptions }) => providerOptions)).toEqual([marked ? point : undefined])
        expect(call?.tools).toMatchObject([marked ? { providerOptions: point } : { name: "bash" }])
      }
    }))

  it.effect("takes the cost that a gateway reports", () =>
    Effect.gen(function*() {
      for (const metadata of [{ openrouter: { usage: { cost: 0.25 } } }, { gateway: { cost: "0.25" } }]) {
        const asked = yield* ask(adapt(mock({ ...finish(), providerMetadata: metadata } as LanguageModelV3StreamPart)))
        expect(finishOf(asked)).toMatchObject({ cost: "0.25" })
      }
    }))

  it.effect("a paused answer is none that is complete", () =>
    Effect.gen(function*() {
      const text: LanguageModelV3StreamPart = { type: "text-delta", id: "t", delta: "a" }
      expect(finishOf(yield* ask(adapt(mock(text, finish("stop", "pause_turn")))))).toMatchObject({ finish: "pause" })
    }))

  it.effect("what a package puts on a call or a text goes back as it came, except ids of the server's copy", () =>
    Effect.gen(function*() {
      const own = { thoughtSignature: "s", nested: { list: [1, { deep: true }] }, itemId: "fc_1" }
      const asked = yield* ask(adapt(mock(
        { type: "text-start", id: "t", providerMetadata: { any: { annotations: [], phase: "x" } } },
        { type: "text-delta", id: "t", delta: "a" },
        { type: "text-end", id: "t" },
        { type: "tool-call", toolCallId: "c", toolName: "bash", input: "{}", providerMetadata: { any: own } },
        {
          type: "tool-call",
          toolCallId: "d",
          toolName: "bash",
          input: "{}",
          providerMetadata: { any: { itemId: "i" } }
        },
        finish("tool-calls", "tool_use")
      )))
      const { itemId: _, ...kept } = own
      expect(callsOf(asked).map((call) => call.metadata)).toEqual([{ any: kept }, undefined])
      expect(asked.events).toContainEqual({ type: "text-end", id: "t", metadata: { any: { phase: "x" } } })
    }))

  it.effect("P30: counts that are not whole numbers are unknown", () =>
    Effect.gen(function*() {
      for (const count of [NaN, Infinity, -1, undefined]) {
        const part: LanguageModelV3StreamPart = {
          type: "finish",
          finishReason: { unified: "stop", raw: "stop" },
          usage: usage(count, 5)
        }
        expect(finishOf(yield* ask(adapt(mock(part))))).toEqual({ type: "finish", finish: "stop", tokens: undefined })
      }
    }))

  it.effect("P27: names and identifiers are well-formed too", () =>
    Effect.gen(function*() {
      const asked = yield* ask(adapt(mock(
        { type: "tool-call", toolCallId: "a\ud800", toolName: "b\0", input: "c\ud800" },
        finish()
      )))
      expect(callsOf(asked)).toEqual([{ type: "tool-call", id: "a\ufffd", name: "b\ufffd", input: "c\ufffd" }])
    }))

  it.effect("an error before anything was sent means that the request cannot be made", () =>
    Effect.gen(function*() {
      const { error, events } = yield* ask(adapt(failing(new TypeError("audio file parts with URLs"))))
      expect(error).toMatchObject({ reason: "invalid_request", retryable: false })
      expect(error?.message).toContain("audio file parts")
      expect(events).toEqual([])
    }))

  it.effect.each(
    [
      [{ "retry-after": "7" }, 7_000],
      [{ "retry-after": "0.5" }, 500],
      [{ "retry-after-ms": "120", "retry-after": "7" }, 120],
      [{ "retry-after": "Thu, 01 Jan 1970 00:01:40 GMT" }, 40_000],
      [{ "retry-after": "Thu, 01 Jan 1970 00:00:10 GMT" }, 0],
      [{ "retry-after": "86400" }, 86_400_000],
      [{ "retry-after": "soon" }, undefined],
      [{ "retry-after": "-3" }, undefined],
      [{}, undefined]
    ] as const
  )("reads the retry delay from %j", ([responseHeaders, expected]) =>
    Effect.gen(function*() {
      yield* TestClock.setTime(60_000)
      const { error } = yield* ask(adapt(failing(refusal(429, { responseHeaders }))))
      expect(error?.retryAfter).toBe(expected)
    }))

  it.effect("a server that knows whether a retry can help is believed", () =>
    Effect.gen(function*() {
      const retryable = (status: number, said: string) =>
        Effect.map(
          ask(adapt(failing(refusal(status, { responseHeaders: { "x-should-retry": said } })))),
          ({ error }) => error?.retryable
        )
      expect(yield* retryable(429, "false")).toBe(false)
      expect(yield* retryable(500, "false")).toBe(false)
      expect(yield* retryable(400, "true")).toBe(true)
      expect(yield* retryable(429, "perhaps")).toBe(true)
    }))

  it.effect.each(
    [[402, "rate_limit", false, "Check the plan"], [409, "server", true, "(409)"]] as const
  )("a %i is %s", ([status, reason, retryable, says]) =>
    Effect.gen(function*() {
      const { error } = yield* ask(adapt(failing(refusal(status))))
      expect(error).toMatchObject({ reason, retryable, status })
      expect(error?.message).toContain(says)
    }))

  it.effect("a client that says only that there was no connection is understood", () =>
    Effect.gen(function*() {
      const cause = Object.assign(new Error("no"), { code: "ECONNREFUSED" })
      const { error } = yield* ask(adapt(failing(new TypeError("fetch failed", { cause }))))
      expect(error).toMatchObject({ reason: "network", retryable: true })
      expect(error?.message).toBe("mock/m could not be reached (ECONNREFUSED).")
    }))

  it.effect("a permanent error has no retry delay", () =>
    Effect.gen(function*() {
      const { error } = yield* ask(adapt(failing(refusal(400, { responseHeaders: { "retry-after": "7" } }))))
      expect(error?.retryAfter).toBeUndefined()
    }))

  it.effect("P04: keys are redacted from messages, however they got there", () =>
    Effect.gen(function*() {
      const key = "top/secret+value"
      const secrets = [Redacted.make(key)]
      const texts = [
        `bad key ${key}`,
        `bad key ${encodeURIComponent(key)}`,
        "Authorization: Bearer abcdefghijkl was refused",
        "bad key sk-proj-abcdef0123",
        "see https://user:pass@host/v1"
      ]
      for (const text of texts) {
        const { error } = yield* ask(
          adapt(failing(refusal(401, { responseBody: text })), { secrets, keyName: "MOCK_KEY" })
        )
        expect(error?.message).toContain("[redacted]")
        expect(error?.message).toContain("Check MOCK_KEY.")
        expect(error?.message).not.toMatch(/top|abcdef|pass/)
      }
    }))

  it.effect("a message is one line of limited length", () =>
    Effect.gen(function*() {
      const { error } = yield* ask(adapt(failing(refusal(400, { responseBody: `a\n\x1b[2J\tb ${"x".repeat(9_999)}` }))))
      expect(error?.message).toMatch(/^mock\/m refused the request \(400\): a \[2J b x+…$/)
      expect(error?.message.length).toBeLessThan(600)
    }))

  it.effect("interruption aborts the model, and nothing is emitted after it", () =>
    Effect.gen(function*() {
      const aborted = yield* Deferred.make<void>()
      const first = yield* Deferred.make<void>()
      const pipe = new TransformStream<LanguageModelV3StreamPart, LanguageModelV3StreamPart>()
      const writer = pipe.writable.getWriter()
      const model = new MockLanguageModelV3({
        doStream: async ({ abortSignal }) => {
          abortSignal?.addEventListener("abort", () => Deferred.unsafeDone(aborted, Effect.void))
          return { stream: pipe.readable }
        }
      })
      const events: Array<string> = []
      const fiber = yield* Effect.fork(
        adapt(model).stream(request(), ({ type }) => {
          events.push(type)
          if (type === "text-delta") Deferred.unsafeDone(first, Effect.void)
        })
      )
      yield* Effect.promise(() => writer.write({ type: "text-delta", id: "t", delta: "a" }))
      yield* Deferred.await(first)
      yield* Fiber.interrupt(fiber)
      yield* Deferred.await(aborted)
      yield* Effect.promise(() => writer.write({ type: "text-delta", id: "t", delta: "b" }))
      expect(events).toEqual(["connected", "text-start", "text-delta"])
    }))

  it.effect("models with middleware of the AI SDK work as well", () =>
    Effect.gen(function*() {
      const model = wrapLanguageModel({
        model: mock(
          { type: "text-start", id: "t" },
          { type: "text-delta", id: "t", delta: "<think>hm</think>yes" },
          { type: "text-end", id: "t" },
          finish()
        ),
        middleware: extractReasoningMiddleware({ tagName: "think" })
      })
      const asked = yield* ask(adapt(model))
      expect(textOf(asked).trim()).toBe("yes")
      expect(asked.events).toContainEqual({ type: "reasoning-delta", id: "reasoning-0", delta: "hm" })
    }))

  it.effect("messages of the right shape are passed on, not copied", () =>
    Effect.gen(function*() {
      const model = mock(finish())
      const messages = [
        { role: "system", content: "a" },
        { role: "user", content: [{ type: "text", text: "b" }] },
        { role: "assistant", content: [{ type: "tool-call", toolCallId: "c", toolName: "t", input: { x: 1 } }] },
        {
          role: "tool",
          content: [{ type: "tool-result", toolCallId: "c", toolName: "t", output: { type: "text", value: "d" } }]
        }
      ] as const
      yield* ask(adapt(model), { messages, tools: [] })
      const [call] = model.doStreamCalls
      messages.forEach((message, index) => expect(call?.prompt[index]).toBe(message))
      expect(call?.tools).toBeUndefined()
      expect(call?.toolChoice).toBeUndefined()
    }))
})
