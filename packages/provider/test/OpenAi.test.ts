import { describe, expect, it } from "@effect/vitest"
import { Provider } from "@skein/core/Provider"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as OpenAi from "../src/OpenAi.ts"
import { chatWire } from "./support/chatWire.ts"
import { responsesWire } from "./support/responsesWire.ts"
import { ask, serve, sse, textOf } from "./support/Server.ts"
import { wireSuite } from "./support/wire.ts"

describe("Chat Completions", () => {
  wireSuite(chatWire((baseUrl, apiKey) => OpenAi.make({ baseUrl, apiKey })))
})

describe("Responses", () => {
  wireSuite(responsesWire)
})

describe("OpenAi", () => {
  const env = (entries: Record<string, string>) =>
    Layer.setConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(entries))))
  const wire = chatWire(() => Effect.die("unused"))

  it.scoped("reads the key and the base URL from the environment", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) =>
        sse(response, ...wire.begin, ...wire.text("hi"), ...wire.finish("stop")).end()
      )
      yield* Effect.gen(function*() {
        const provider = yield* Provider
        const model = yield* provider.resolve({ providerID: "openai", modelID: "m" })
        expect(textOf(yield* ask(model))).toBe("hi")
        expect(server.seen[0]?.headers.authorization).toBe("Bearer sk-from-env")
        expect(server.seen[0]?.url).toBe("/v1/chat/completions")
      }).pipe(
        Effect.provide(OpenAi.layer),
        Effect.provide(env({ OPENAI_API_KEY: " sk-from-env\n", OPENAI_BASE_URL: server.url }))
      )
    }))

  it.effect("names the variable to set if there is no key, and still lists models", () =>
    Effect.gen(function*() {
      const provider = yield* Provider
      const error = yield* Effect.flip(provider.resolve(OpenAi.defaultModel))
      expect(error).toMatchObject({ reason: "no_key", model: "openai/gpt-6.1-sol" })
      expect(error.message).toContain("OPENAI_API_KEY")
      expect((yield* provider.list).every(({ available }) => !available)).toBe(true)
    }).pipe(Effect.provide(OpenAi.layer), Effect.provide(env({ OPENAI_API_KEY: "" }))))

  it.effect("refuses an invalid base URL", () =>
    Effect.gen(function*() {
      const provider = yield* Provider
      const error = yield* Effect.flip(provider.resolve({ providerID: "openai", modelID: "m" }))
      expect(error.reason).toBe("bad_config")
      expect(error.message).toContain("localhost:8000")
    }).pipe(Effect.provide(OpenAi.layer), Effect.provide(env({ OPENAI_BASE_URL: "localhost:8000" }))))

  it.scoped("tells keys apart in the limit key without revealing them", () =>
    Effect.gen(function*() {
      const keyOf = (key: string) =>
        Effect.flatMap(OpenAi.make({ apiKey: Redacted.make(key) }), (vendor) => vendor.model("m")).pipe(
          Effect.map(({ limitKey }) => limitKey)
        )
      const first = yield* keyOf("sk-one-1234567890")
      expect(first).toMatch(/^openai\/m\/[0-9a-f]{8}$/)
      expect(yield* keyOf("sk-two-1234567890")).not.toBe(first)
      expect(yield* keyOf("sk-one-1234567890")).toBe(first)
    }))

  it.scoped("sends a variant as the reasoning effort in both APIs", () =>
    Effect.gen(function*() {
      for (const api of ["chat", "responses"] as const) {
        const server = yield* serve((response) => response.writeHead(400).end())
        const model = yield* Effect.flatMap(
          OpenAi.make({ baseUrl: server.url, api }),
          (vendor) => vendor.model("gpt-5")
        )
        yield* ask(model, { variant: "low" })
        expect(server.seen[0]?.body).toContain(api === "chat" ? "\"reasoning_effort\":\"low\"" : "\"effort\":\"low\"")
      }
    }))

  it.scoped("refuses an unknown variant before sending anything", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => response.writeHead(400).end())
      const model = yield* Effect.flatMap(OpenAi.make({ baseUrl: server.url }), (vendor) => vendor.model("gpt-5"))
      const { error } = yield* ask(model, { variant: "ultra" })
      expect(error).toMatchObject({ reason: "invalid_request", retryable: false })
      expect(error?.message).toContain("Check the variant")
      expect(server.seen).toEqual([])
    }))

  it.scoped("caps the output of reasoning chat models by the new field, of others by the old one", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => response.writeHead(400).end())
      const vendor = yield* OpenAi.make({ baseUrl: server.url })
      const capsOf = (modelID: string) =>
        Effect.gen(function*() {
          yield* ask(yield* vendor.model(modelID), { maxOutputTokens: 300 })
          const { max_completion_tokens, max_tokens } = JSON.parse(server.seen.at(-1)?.body ?? "")
          return { max_completion_tokens, max_tokens }
        })
      for (const id of ["o3", "gpt-5", "gpt-6.1-sol"]) expect(yield* capsOf(id)).toEqual({ max_completion_tokens: 300 })
      for (const id of ["m", "gpt-4o"]) expect(yield* capsOf(id)).toEqual({ max_tokens: 300 })
    }))

  it.scoped("sends reasoning chat models a developer message and no sampling options", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => response.writeHead(400).end())
      const vendor = yield* OpenAi.make({ baseUrl: server.url })
      const bodyOf = (modelID: string, variant?: string) =>
        Effect.gen(function*() {
          const model = yield* vendor.model(modelID)
          const messages = [{ role: "system", content: "Be brief." }] as const
          yield* ask(model, { messages, temperature: 0.5, topP: 0.9, ...variant === undefined ? {} : { variant } })
          const { messages: [{ role }], temperature, top_p } = JSON.parse(server.seen.at(-1)?.body ?? "")
          return [role, temperature, top_p]
        })
      for (const id of ["o3", "o4-mini", "gpt-5", "gpt-5-mini", "gpt-6.1-sol"]) {
        expect(yield* bodyOf(id)).toEqual(["developer", undefined, undefined])
      }
      for (const id of ["m", "gpt-4o", "gpt-4.1", "gpt-5-chat-latest", "o3x", "my-gpt-5"]) {
        expect(yield* bodyOf(id)).toEqual(["system", 0.5, 0.9])
      }
      expect(yield* bodyOf("gpt-5.1", "none")).toEqual(["developer", 0.5, 0.9])
      expect(yield* bodyOf("gpt-5", "none")).toEqual(["developer", undefined, undefined])
    }))

  it.scoped("sends other servers no OpenAI-specific fields, and no key if there is none", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => response.writeHead(400).end())
      const model = yield* Effect.flatMap(OpenAi.make({ baseUrl: server.url }), (vendor) => vendor.model("m"))
      yield* ask(model)
      expect(server.seen[0]?.headers.authorization).toBeUndefined()
      expect(Object.keys(JSON.parse(server.seen[0]?.body ?? "")).toSorted()).toEqual([
        "messages",
        "model",
        "stream",
        "stream_options",
        "tool_choice",
        "tools"
      ])
    }))

  it.scoped("tells the Responses API to store nothing, and keeps tool arguments optional", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => response.writeHead(400).end())
      const model = yield* Effect.flatMap(
        OpenAi.make({ baseUrl: server.url, api: "responses" }),
        (vendor) => vendor.model("gpt-5")
      )
      yield* ask(model)
      expect(JSON.parse(server.seen[0]?.body ?? "")).toMatchObject({
        store: false,
        include: ["reasoning.encrypted_content"],
        tools: [{ name: "bash", strict: false }]
      })
    }))
})
