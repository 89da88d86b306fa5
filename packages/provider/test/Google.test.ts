import { describe, expect, it } from "@effect/vitest"
import { type ModelRequest, Provider } from "@skein/core/Provider"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Google from "../src/Google.ts"
import { generateWire as wire } from "./support/generateWire.ts"
import { ask, callsOf, finishOf, json, serve, sse, textOf } from "./support/Server.ts"
import { wireSuite } from "./support/wire.ts"

describe("Generative Language", () => {
  wireSuite(wire)
})

const apiKey = Redacted.make("AIzaTESTtestTESTtestTESTtest")

/** A server that refuses, and what it was asked by a model of this name. */
const bodyOf = (modelID: string, overrides: Partial<ModelRequest> = {}) =>
  Effect.gen(function*() {
    const server = yield* serve((response) => response.writeHead(400).end())
    const model = yield* Effect.flatMap(Google.make({ baseUrl: server.url, apiKey }), (it) => it.model(modelID))
    const { error } = yield* ask(model, overrides)
    return { error, body: JSON.parse(server.seen[0]?.body ?? "{}") }
  })

/** What a model makes of these frames. */
const answerOf = (...frames: ReadonlyArray<unknown>) =>
  Effect.gen(function*() {
    const server = yield* serve((response) => sse(response, ...frames).end())
    const model = yield* Effect.flatMap(Google.make({ baseUrl: server.url, apiKey }), (it) => it.model("m"))
    return yield* ask(model)
  })

const refused = (status: number, error: object) =>
  Effect.gen(function*() {
    const server = yield* serve((response) => json(response, status, { error }))
    const model = yield* Effect.flatMap(Google.make({ baseUrl: server.url, apiKey }), (it) => it.model("m"))
    return (yield* ask(model)).error
  })

const parts = (...all: ReadonlyArray<object>) => ({ candidates: [{ content: { role: "model", parts: all } }] })

describe("Google", () => {
  const env = (entries: Record<string, string>) =>
    Layer.setConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(entries))))

  it.scoped.each(["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"])(
    "reads the key from %s",
    (name) =>
      Effect.gen(function*() {
        const server = yield* serve((response) =>
          sse(response, ...wire.begin, ...wire.text("hi"), ...wire.finish("stop")).end()
        )
        yield* Effect.gen(function*() {
          const provider = yield* Provider
          expect(yield* provider.defaultModel).toEqual(Google.defaultModel)
          const model = yield* provider.resolve({ providerID: "google", modelID: "m" })
          expect(textOf(yield* ask(model))).toBe("hi")
          expect(server.seen[0]?.headers["x-goog-api-key"]).toBe("key-from-env")
          expect(server.seen[0]?.url).toBe("/v1beta/models/m:streamGenerateContent?alt=sse")
        }).pipe(
          Effect.provide(Google.layer),
          Effect.provide(env({ [name]: " key-from-env\n", GOOGLE_GEMINI_BASE_URL: `http://${server.host}` }))
        )
      })
  )

  it.effect("names the variable to set if there is no key, and still lists models with prices", () =>
    Effect.gen(function*() {
      const provider = yield* Provider
      const error = yield* Effect.flip(provider.resolve(Google.defaultModel))
      expect(error).toMatchObject({ reason: "no_key", model: "google/gemini-3.8-flash" })
      expect(error.message).toContain("GOOGLE_GENERATIVE_AI_API_KEY")
      const models = yield* provider.list
      expect(models.every(({ available, price }) => !available && price !== undefined)).toBe(true)
      expect(models.filter(({ size }) => size !== undefined).map(({ modelID, size }) => [size, modelID])).toEqual([
        ["small", "gemini-3.5-flash-lite"],
        ["default", "gemini-3.8-flash"],
        ["large", "gemini-4-argon"]
      ])
    }).pipe(Effect.provide(Google.layer), Effect.provide(env({}))))

  it.scoped("tells thoughts, and keeps the signatures of thoughts, texts and calls to send them back", () =>
    Effect.gen(function*() {
      const { events } = yield* answerOf(
        parts({ text: "Let me see.", thought: true, thoughtSignature: "A" }),
        parts({ text: "Looking." }),
        parts({ text: "", thoughtSignature: "B" }),
        parts(
          { functionCall: { id: "1", name: "bash", args: { command: "ls" } }, thoughtSignature: "C" },
          { functionCall: { id: "2", name: "bash", args: { command: "pwd" } } }
        ),
        ...wire.finish("stop")
      )
      const signed = (thoughtSignature: string) => ({ google: { thoughtSignature } })
      expect(events.flatMap((event) => "metadata" in event ? [[event.type, event.metadata]] : [])).toEqual([
        ["reasoning-end", signed("A")],
        ["text-end", signed("B")],
        ["tool-call", signed("C")]
      ])
      expect(events.at(-1)).toMatchObject({ type: "finish", finish: "tool-calls" })
      const model = { providerID: "google", modelID: "gemini-3.8-flash" }
      const call = (id: string) => ({ type: "tool-call" as const, toolCallId: id, toolName: "bash", input: {} })
      const messages: ModelRequest["messages"] = [
        { role: "user", content: [{ type: "text", text: "go" }] },
        {
          role: "assistant",
          model,
          content: [
            { type: "reasoning", text: "Let me see.", providerOptions: signed("A") },
            { type: "text", text: "Looking.", providerOptions: signed("B") },
            { ...call("1"), providerOptions: signed("C") },
            call("2")
          ]
        }
      ]
      const { body } = yield* bodyOf(model.modelID, { messages })
      expect(body.contents[1].parts).toEqual([
        { text: "Let me see.", thought: true, thoughtSignature: "A" },
        { text: "Looking.", thoughtSignature: "B" },
        { functionCall: { id: "1", name: "bash", args: {} }, thoughtSignature: "C" },
        { functionCall: { id: "2", name: "bash", args: {} } }
      ])
      const other = yield* bodyOf("gemini-2.5-pro", { messages })
      expect(other.body.contents[1].parts).toEqual([
        { text: "Looking." },
        { functionCall: { id: "1", name: "bash", args: {} } },
        { functionCall: { id: "2", name: "bash", args: {} } }
      ])
    }))

  it.scoped("sends a variant as the level or the budget of thinking, and refuses an unknown one", () =>
    Effect.gen(function*() {
      const configOf = (id: string, variant?: string) =>
        Effect.map(
          bodyOf(id, variant === undefined ? {} : { variant }),
          ({ body }) => body.generationConfig.thinkingConfig
        )
      expect(yield* configOf("gemini-3.8-flash")).toEqual({ includeThoughts: true })
      expect(yield* configOf("gemini-3.8-flash", "low")).toEqual({ includeThoughts: true, thinkingLevel: "low" })
      expect(yield* configOf("gemini-2.5-flash", "none")).toEqual({ includeThoughts: true, thinkingBudget: 0 })
      expect(yield* configOf("gemma-3", "low")).toBeUndefined()
      const { body, error } = yield* bodyOf("gemini-3.8-flash", { variant: "ultra" })
      expect(error?.message).toContain("Check the variant")
      expect(body).toEqual({})
    }))

  it.scoped("counts thoughts and what the cache gave", () =>
    Effect.gen(function*() {
      const asked = yield* answerOf(...wire.text("ok"), ...wire.finish("stop", wire.usage(100, 30, 80, 20)))
      expect(finishOf(asked)).toMatchObject({
        tokens: { input: 100, cacheRead: 80, cacheWrite: 0, output: 30, reasoning: 20 }
      })
    }))

  it.scoped("sends images", () =>
    Effect.gen(function*() {
      const { body } = yield* bodyOf("gemini-3.8-flash", {
        messages: [{
          role: "user",
          content: [{ type: "file", data: "data:image/png;base64,AAAA", mediaType: "image/png" }]
        }]
      })
      expect(body.contents[0].parts).toEqual([{ inlineData: { mimeType: "image/png", data: "AAAA" } }])
    }))

  it.scoped("tells a safety stop as an answer that a filter ended, of the answer or of the prompt", () =>
    Effect.gen(function*() {
      const stopped = yield* answerOf(...wire.text("I"), { candidates: [{ finishReason: "SAFETY" }] })
      expect(finishOf(stopped)).toMatchObject({ finish: "content-filter" })
      const blocked = yield* answerOf({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } })
      expect(finishOf(blocked)).toMatchObject({ finish: "content-filter" })
    }))

  it.scoped("tells a call that the model could not write as a bad answer that may be tried again", () =>
    Effect.gen(function*() {
      const { error } = yield* answerOf({ candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL" }] })
      expect(error).toMatchObject({ reason: "bad_response", retryable: true })
    }))

  it.scoped("waits as long as a quota per minute says, and not for one per day", () =>
    Effect.gen(function*() {
      const exhausted = (quotaId: string) => ({
        code: 429,
        status: "RESOURCE_EXHAUSTED",
        message: "You exceeded your current quota, please check your plan and billing details.",
        details: [
          { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ quotaId }] },
          { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "37.5s" }
        ]
      })
      const minute = yield* refused(429, exhausted("GenerateRequestsPerMinutePerProjectPerModel"))
      expect(minute).toMatchObject({ reason: "rate_limit", retryable: true, retryAfter: 37_500 })
      const day = yield* refused(429, exhausted("GenerateRequestsPerDayPerProjectPerModel-FreeTier"))
      expect(day).toMatchObject({ reason: "rate_limit", retryable: false })
      expect(day?.message).toContain("for the day")
    }))

  it.scoped("tells a key that is not valid as such, and does not repeat it", () =>
    Effect.gen(function*() {
      const error = yield* refused(400, {
        code: 400,
        status: "INVALID_ARGUMENT",
        message: `API key not valid: ${Redacted.value(apiKey)}`,
        details: [{ reason: "API_KEY_INVALID" }]
      })
      expect(error).toMatchObject({ reason: "auth", retryable: false })
      expect(error?.message).toContain("Check GOOGLE_GENERATIVE_AI_API_KEY")
      expect(error?.message).not.toContain(Redacted.value(apiKey))
    }))

  it.scoped("runs no call of an answer that is overloaded in its middle", () =>
    Effect.gen(function*() {
      const asked = yield* answerOf(
        ...wire.callBegin("1", "bash", "{}"),
        { error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }
      )
      expect(asked.error).toMatchObject({ reason: "overloaded", retryable: true })
      expect(callsOf(asked)).toEqual([])
    }))
})
