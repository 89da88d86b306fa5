import type { LanguageModelV3StreamPart } from "@ai-sdk/provider"
import { expect, it } from "@effect/vitest"
import { Provider } from "@skein/core/Provider"
import { defaultSettingsMiddleware, extractReasoningMiddleware, simulateReadableStream } from "ai"
import { MockLanguageModelV3 } from "ai/test"
import * as Effect from "effect/Effect"
import * as AiSdk from "../src/AiSdk.ts"
import { ask, textOf } from "./support/Server.ts"

const finish: LanguageModelV3StreamPart = {
  type: "finish",
  finishReason: { unified: "stop", raw: "stop" },
  usage: {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 2, text: 2, reasoning: 0 }
  }
}

/** A model with this answer, named like `openai.responses`. */
const saying = (delta: string) =>
  new MockLanguageModelV3({
    provider: "openai.responses",
    modelId: "gpt-5",
    doStream: async () => ({
      stream: simulateReadableStream<LanguageModelV3StreamPart>({
        chunks: [
          { type: "text-start", id: "t" },
          { type: "text-delta", id: "t", delta },
          { type: "text-end", id: "t" },
          finish
        ],
        initialDelayInMs: null,
        chunkDelayInMs: null
      })
    })
  })

const defaultModel = Effect.flatMap(Provider, (provider) => Effect.flatMap(provider.defaultModel, provider.resolve))

it.effect("is the default model, under its own name and with the limits in the table", () =>
  Effect.gen(function*() {
    const model = yield* defaultModel
    expect(model.info).toMatchObject({ providerID: "openai", modelID: "gpt-5", limit: { context: 400_000 } })
    expect(textOf(yield* ask(model))).toBe("yes")
  }).pipe(Effect.provide(AiSdk.layer(saying("yes")))))

it.effect("prefers the info that you give", () =>
  Effect.gen(function*() {
    const info = { providerID: "mine", modelID: "m" }
    const model = yield* Effect.provide(defaultModel, AiSdk.layer(saying("yes"), { info, limitKey: "shared" }))
    expect(model).toMatchObject({ info, limitKey: "shared" })
  }))

it.effect("applies middleware, the first one first", () =>
  Effect.gen(function*() {
    const sdk = saying("<think>hm</think>yes")
    const temperature = (value: number) => defaultSettingsMiddleware({ settings: { temperature: value } })
    const model = yield* AiSdk.make(sdk, {
      middleware: [extractReasoningMiddleware({ tagName: "think" }), temperature(0.1), temperature(0.9)]
    })
    const asked = yield* ask(model)
    expect(textOf(asked).trim()).toBe("yes")
    expect(asked.events).toContainEqual({ type: "reasoning-delta", id: "reasoning-0", delta: "hm" })
    expect(sdk.doStreamCalls[0]?.temperature).toBe(0.1)
  }))
