import { describe, expect, it } from "@effect/vitest"
import { type ModelRequest, Provider } from "@skein/core/Provider"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Anthropic from "../src/Anthropic.ts"
import { messagesWire as wire } from "./support/messagesWire.ts"
import { ask, callsOf, finishOf, json, request, serve, sse, textOf } from "./support/Server.ts"
import { wireSuite } from "./support/wire.ts"

describe("Messages", () => {
  wireSuite(wire)
})

const apiKey = Redacted.make("sk-ant-test-SECRET")

/** A server that refuses, and what it was asked by a model of this name. */
const bodyOf = (modelID: string, overrides: Partial<ModelRequest> = {}) =>
  Effect.gen(function*() {
    const server = yield* serve((response) => response.writeHead(400).end())
    const model = yield* Effect.flatMap(Anthropic.make({ baseUrl: server.url, apiKey }), (it) => it.model(modelID))
    const { error } = yield* ask(model, overrides)
    return { error, headers: server.seen[0]?.headers, body: JSON.parse(server.seen[0]?.body ?? "{}") }
  })

/** What a model makes of these frames. */
const answerOf = (...frames: ReadonlyArray<unknown>) =>
  Effect.gen(function*() {
    const server = yield* serve((response) => sse(response, ...frames).end())
    const model = yield* Effect.flatMap(Anthropic.make({ baseUrl: server.url, apiKey }), (it) => it.model("m"))
    return yield* ask(model)
  })

const block = (index: number, start: object, ...deltas: ReadonlyArray<object>) => [
  { type: "content_block_start", index, content_block: start },
  ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
  { type: "content_block_stop", index }
]

const point = { type: "ephemeral" }

describe("Anthropic", () => {
  const env = (entries: Record<string, string>) =>
    Layer.setConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(entries))))

  it.scoped("reads the key and the base URL from the environment, and adds the version", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) =>
        sse(response, ...wire.begin, ...wire.text("hi"), ...wire.finish("stop")).end()
      )
      yield* Effect.gen(function*() {
        const provider = yield* Provider
        expect(yield* provider.defaultModel).toEqual(Anthropic.defaultModel)
        const model = yield* provider.resolve({ providerID: "anthropic", modelID: "m" })
        expect(textOf(yield* ask(model))).toBe("hi")
        expect(server.seen[0]?.headers).toMatchObject({
          "x-api-key": "sk-from-env",
          "anthropic-version": "2023-06-01"
        })
        expect(server.seen[0]?.url).toBe("/v1/messages")
      }).pipe(
        Effect.provide(Anthropic.layer),
        Effect.provide(env({ ANTHROPIC_API_KEY: " sk-from-env\n", ANTHROPIC_BASE_URL: `http://${server.host}/` }))
      )
    }))

  it.effect("names the variable to set if there is no key, and still lists models with prices", () =>
    Effect.gen(function*() {
      const provider = yield* Provider
      const error = yield* Effect.flip(provider.resolve(Anthropic.defaultModel))
      expect(error).toMatchObject({ reason: "no_key", model: "anthropic/claude-sonnet-5-5" })
      expect(error.message).toContain("ANTHROPIC_API_KEY")
      const models = yield* provider.list
      expect(models.every(({ available, price }) => !available && price?.cacheWrite !== undefined)).toBe(true)
      expect(models.filter(({ size }) => size !== undefined).map(({ modelID, size }) => [size, modelID])).toEqual([
        ["small", "claude-haiku-5-5"],
        ["large", "claude-opus-5-5"],
        ["default", "claude-sonnet-5-5"]
      ])
    }).pipe(Effect.provide(Anthropic.layer), Effect.provide(env({}))))

  it.scoped("marks tools, system prompt and the last two ends of the conversation for the cache", () =>
    Effect.gen(function*() {
      const text = (value: string) => [{ type: "text" as const, text: value }]
      const messages: ModelRequest["messages"] = [
        { role: "system", content: "Be brief." },
        { role: "user", content: text("one") },
        { role: "assistant", content: text("two") },
        { role: "user", content: text("three") },
        { role: "assistant", content: [{ type: "tool-call", toolCallId: "c", toolName: "bash", input: {} }] },
        {
          role: "tool",
          content: [{ type: "tool-result", toolCallId: "c", toolName: "bash", output: { type: "text", value: "ok" } }]
        }
      ]
      const tool = { description: "", inputSchema: { type: "object" } }
      const { body } = yield* bodyOf("claude-sonnet-5-5", {
        messages,
        tools: [{ ...tool, name: "read" }, { ...tool, name: "bash" }]
      })
      expect(body.system).toEqual([{ type: "text", text: "Be brief.", cache_control: point }])
      expect(body.tools.map((each: { cache_control?: unknown }) => each.cache_control)).toEqual([undefined, point])
      const points = body.messages.map(({ content }: { content: ReadonlyArray<{ cache_control?: unknown }> }) =>
        content.at(-1)?.cache_control
      )
      expect(points).toEqual([undefined, undefined, point, undefined, point])
      const title = yield* bodyOf("claude-sonnet-5-5", {
        messages,
        origin: { ...request().origin, purpose: "title" }
      })
      expect(JSON.stringify(title.body)).not.toContain("cache_control")
    }))

  it.scoped("counts what the cache gave and what was written to it", () =>
    Effect.gen(function*() {
      const usage = {
        input_tokens: 10,
        cache_read_input_tokens: 100,
        cache_creation_input_tokens: 20,
        output_tokens: 5,
        output_tokens_details: { thinking_tokens: 2 }
      }
      const asked = yield* answerOf(...wire.begin, ...wire.text("ok"), ...wire.finish("stop", usage))
      expect(finishOf(asked)).toMatchObject({
        tokens: { input: 130, cacheRead: 100, cacheWrite: 20, output: 5, reasoning: 2 }
      })
    }))

  it.scoped("tells thinking with its signature, redacted thinking too, and sends both back as they were", () =>
    Effect.gen(function*() {
      const { events } = yield* answerOf(
        ...wire.begin,
        ...block(
          0,
          { type: "thinking", thinking: "" },
          { type: "thinking_delta", thinking: "Let me " },
          { type: "thinking_delta", thinking: "see." },
          { type: "signature_delta", signature: "SIG" }
        ),
        ...block(1, { type: "redacted_thinking", data: "HIDDEN" }),
        ...block(2, { type: "text", text: "" }, { type: "text_delta", text: "Yes." }),
        ...wire.finish("stop")
      )
      const ends = events.flatMap((event) => event.type === "reasoning-end" ? [event.metadata] : [])
      expect(ends).toEqual([{ anthropic: { signature: "SIG" } }, { anthropic: { redactedData: "HIDDEN" } }])
      const model = { providerID: "anthropic", modelID: "claude-opus-5-5" }
      const said = {
        role: "assistant",
        model,
        content: [
          { type: "reasoning", text: "Let me see.", providerOptions: ends[0] ?? {} },
          { type: "reasoning", text: "", providerOptions: ends[1] ?? {} },
          { type: "text", text: "Yes." }
        ]
      } as const
      const user = { role: "user", content: [{ type: "text", text: "And?" }] } as const
      const { body } = yield* bodyOf(model.modelID, { messages: [user, said, user] })
      expect(body.messages[1].content).toEqual([
        { type: "thinking", thinking: "Let me see.", signature: "SIG" },
        { type: "redacted_thinking", data: "HIDDEN" },
        { type: "text", text: "Yes." }
      ])
      const other = yield* bodyOf("claude-sonnet-5-5", { messages: [user, said, user] })
      expect(other.body.messages[1].content).toEqual([{ type: "text", text: "Yes." }])
    }))

  it.scoped("lets new models think as they see fit, and shows it; a variant is the effort", () =>
    Effect.gen(function*() {
      const usual = yield* bodyOf("claude-opus-5-5")
      expect(usual.body.thinking).toEqual({
        type: "adaptive",
        display: "summarized",
        block_binding: { prefix_mismatch_behavior: "drop_block" }
      })
      expect(usual.headers?.["anthropic-beta"]).toContain("thinking-binding-controls")
      const low = yield* bodyOf("claude-opus-5", { variant: "low" })
      expect(low.body).toMatchObject({
        thinking: { type: "adaptive", display: "summarized" },
        output_config: { effort: "low" }
      })
      expect(low.body.thinking.block_binding).toBeUndefined()
      expect((yield* bodyOf("claude-opus-5", { variant: "none" })).body.thinking).toEqual({ type: "disabled" })
      expect((yield* bodyOf("claude-sonnet-4-6", { temperature: 0.5 })).body).toMatchObject({ temperature: 0.5 })
    }))

  it.scoped("gives older models a budget within the cap of the answer, if a variant asks for it", () =>
    Effect.gen(function*() {
      for (const id of ["claude-sonnet-4-5", "claude-haiku-4-5-20251001", "claude-opus-4-1"]) {
        expect((yield* bodyOf(id)).body.thinking, id).toBeUndefined()
        expect((yield* bodyOf(id, { variant: "low" })).body.thinking).toEqual({ type: "enabled", budget_tokens: 4_000 })
      }
      const capped = yield* bodyOf("claude-sonnet-4-5", { variant: "high", maxOutputTokens: 3_000 })
      expect(capped.body).toMatchObject({ max_tokens: 3_000, thinking: { budget_tokens: 1_976 } })
      const small = yield* bodyOf("claude-sonnet-4-5", { variant: "high", maxOutputTokens: 1_500 })
      expect(small.body).toMatchObject({ max_tokens: 1_500 })
      expect(small.body.thinking).toBeUndefined()
    }))

  it.scoped("refuses an unknown variant before sending anything", () =>
    Effect.gen(function*() {
      const { body, error } = yield* bodyOf("claude-opus-5-5", { variant: "ultra" })
      expect(error).toMatchObject({ reason: "invalid_request", retryable: false })
      expect(error?.message).toContain("Check the variant")
      expect(body).toEqual({})
    }))

  it.scoped("sends images as base64 and by address, and documents", () =>
    Effect.gen(function*() {
      const { body } = yield* bodyOf("claude-sonnet-5-5", {
        messages: [{
          role: "user",
          content: [
            { type: "file", data: "data:image/png;base64,AAAA", mediaType: "image/png" },
            { type: "file", data: "https://example.test/a.png", mediaType: "image/png" },
            { type: "file", data: "data:application/pdf;base64,AAAA", mediaType: "application/pdf", filename: "a.pdf" }
          ]
        }]
      })
      expect(body.messages[0].content).toMatchObject([
        { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
        { type: "image", source: { type: "url", url: "https://example.test/a.png" } },
        { type: "document", source: { type: "base64", media_type: "application/pdf", data: "AAAA" } }
      ])
    }))

  it.scoped("declares the tools of earlier calls where a request offers none", () =>
    Effect.gen(function*() {
      const { body } = yield* bodyOf("claude-sonnet-5-5", {
        tools: [],
        messages: [
          { role: "user", content: [{ type: "text", text: "look" }] },
          { role: "assistant", content: [{ type: "tool-call", toolCallId: "c", toolName: "bash", input: {} }] },
          {
            role: "tool",
            content: [{ type: "tool-result", toolCallId: "c", toolName: "bash", output: { type: "text", value: "ok" } }]
          }
        ]
      })
      expect(body.tools).toMatchObject([{ name: "bash", input_schema: { type: "object" } }])
      expect(body.tool_choice).toEqual({ type: "none" })
    }))

  it.scoped("forces no tool on a model that refuses that", () =>
    Effect.gen(function*() {
      expect((yield* bodyOf("claude-opus-5-5", { toolChoice: "required" })).body.tool_choice).toEqual({ type: "auto" })
      expect((yield* bodyOf("claude-haiku-5-5", { toolChoice: "required" })).body.tool_choice).toEqual({ type: "any" })
    }))

  it.scoped("tells a refusal as an answer that a filter ended", () =>
    Effect.gen(function*() {
      const asked = yield* answerOf(
        ...wire.begin,
        ...wire.text("I cannot"),
        { type: "message_delta", delta: { stop_reason: "refusal", stop_sequence: null }, usage: { output_tokens: 3 } },
        { type: "message_stop" }
      )
      expect(asked.error).toBeUndefined()
      expect(finishOf(asked)).toMatchObject({ finish: "content-filter" })
    }))

  it.scoped("tells that it is overloaded, also in the middle of an answer, and runs no call of it", () =>
    Effect.gen(function*() {
      const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }
      const asked = yield* answerOf(
        ...wire.begin,
        ...wire.callBegin("call_a", "bash", "{}"),
        ...wire.callEnd("call_a", "bash", "{}"),
        `event: error\ndata: ${JSON.stringify(overloaded)}\n\n`
      )
      expect(asked.error).toMatchObject({ reason: "overloaded", retryable: true })
      expect(callsOf(asked)).toEqual([])
      const server = yield* serve((response) => json(response, 529, overloaded, { "retry-after": "7" }))
      const model = yield* Effect.flatMap(Anthropic.make({ baseUrl: server.url, apiKey }), (it) => it.model("m"))
      expect((yield* ask(model)).error).toMatchObject({ reason: "overloaded", retryAfter: 7_000, status: 529 })
    }))
})
