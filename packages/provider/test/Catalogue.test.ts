import { expect, it } from "@effect/vitest"
import { Config } from "@skein/core/Config"
import { Provider } from "@skein/core/Provider"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { read, reduce } from "../src/Catalogue.ts"
import { localModels } from "../src/LocalModels.ts"
import * as Providers from "../src/Providers.ts"
import { json, serve } from "./support/Server.ts"

const text = JSON.stringify({
  moonshotai: {
    id: "moonshotai",
    env: ["MOONSHOT_API_KEY"],
    models: {
      "kimi-x": {
        id: "kimi-x",
        name: "Kimi X",
        attachment: false,
        reasoning: true,
        tool_call: true,
        modalities: { input: ["text", "image"], output: ["text"] },
        limit: { context: 262_144, output: 65_536 },
        cost: { input: 0.6, output: 2.5, cache_read: 0.15 }
      },
      broken: { limit: "large" },
      unlimited: { limit: { context: 0, output: 0 }, cost: { input: 0, output: 0 } }
    }
  },
  google: {
    models: {
      "gemini-9": {
        limit: { context: 1_048_576, output: 65_536 },
        cost: { input: 2, output: 12, context_over_200k: { input: 4, output: 18 } }
      }
    }
  },
  empty: { models: {} }
})

it("reads limits, prices and abilities, and leaves out what it cannot read", () => {
  expect(read(text)).toEqual({
    moonshot: {
      "kimi-x": {
        name: "Kimi X",
        limit: { context: 262_144, output: 65_536 },
        price: { input: "0.6", output: "2.5", cacheRead: "0.15" },
        abilities: { tools: true, reasoning: true, images: true }
      },
      unlimited: {
        price: { input: "0", output: "0" },
        abilities: { tools: true, reasoning: false, images: false }
      }
    },
    google: {
      "gemini-9": {
        // Beyond, another price holds.
        limit: { context: 265_536, output: 65_536 },
        price: { input: "2", output: "12" },
        abilities: { tools: true, reasoning: false, images: false }
      }
    },
    empty: {}
  })
})

it("stores only what it reads, and refuses what is no catalogue", () => {
  const kept = Either.getOrThrow(reduce(text))
  expect(kept).toMatchObject({ models: 3, providers: 3 })
  expect(kept.text).not.toMatch(/attachment|MOONSHOT_API_KEY/)
  expect(read(kept.text)).toEqual(read(text))
  for (const wrong of ["", "<html>", "[]", "{}", "{\"a\":{\"models\":{}}}", "{\"a\":1}"]) {
    expect(Either.isLeft(reduce(wrong))).toBe(true)
    expect(read(wrong)).toEqual(wrong.includes("models") ? { a: {} } : {})
  }
})

it.effect("comes before the built-in table, and after the config", () =>
  Effect.gen(function*() {
    const provider = yield* Provider
    const listed = yield* provider.list
    const found = (name: string) => listed.find(({ modelID, providerID }) => `${providerID}/${modelID}` === name)
    expect(found("moonshot/kimi-x")).toMatchObject({ price: { input: "9", output: "9" }, limit: { context: 262_144 } })
    expect(found("google/gemini-4-argon")).toMatchObject({ price: { input: "7" } })
    expect(found("google/gemini-3.8-flash")).toBeDefined()
  }).pipe(
    Effect.provide(Providers.layer({
      vendors: [],
      fallback: { providerID: "google", modelID: "m" },
      catalogue: {
        ...read(text),
        google: read(JSON.stringify({ g: { models: { "gemini-4-argon": { cost: { input: 7, output: 8 } } } } }))["g"] ??
          {}
      }
    })),
    Effect.provide(
      Config.layer({ provider: { moonshot: { models: { "kimi-x": { price: { input: "9", output: "9" } } } } } })
    ),
    Effect.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map())))
  ))

it.scoped("asks servers on this machine for their models, with their key, and no others", () =>
  Effect.gen(function*() {
    const server = yield* serve((response) =>
      json(response, 200, { data: [{ id: "qwen", max_model_len: 8_192 }, { id: "llama" }, { name: "no id" }, null] })
    )
    const silent = yield* serve((response) => json(response, 500, {}))
    const page = yield* serve((response) => response.writeHead(200).end("<html>"))
    const models = yield* localModels({
      vllm: { base_url: server.url, key_env: "VLLM_KEY" },
      ollama: { base_url: silent.url },
      llamacpp: { base_url: page.url },
      lmstudio: { base_url: "http://127.0.0.1:9/v1" },
      corp: { base_url: "https://models.example.invalid/v1" }
    })
    expect(models).toEqual([
      { providerID: "vllm", modelID: "qwen", limit: { context: 8_192, output: 8_192 } },
      { providerID: "vllm", modelID: "llama" }
    ])
    expect(server.seen).toMatchObject([{ url: "/v1/models", headers: { authorization: "Bearer k-1" } }])
  }).pipe(Effect.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["VLLM_KEY", "k-1"]]))))))
