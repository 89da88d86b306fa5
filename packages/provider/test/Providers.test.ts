import { describe, expect, it } from "@effect/vitest"
import { Config } from "@skein/core/Config"
import { ModelUnavailable, Provider } from "@skein/core/Provider"
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import { formatRef, parseRef } from "@skein/domain/Model"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as DefaultModel from "../src/BuiltIn.ts"
import * as OpenAiCompatible from "../src/OpenAiCompatible.ts"
import * as Providers from "../src/Providers.ts"
import type { Vendor } from "../src/Vendor.ts"
import { chatWire } from "./support/chatWire.ts"
import { ask, json, serve, sse, textOf } from "./support/Server.ts"

const wire = chatWire(() => Effect.die("unused"))

/** A vendor of the program, with one model. */
const own: Vendor = {
  id: "own",
  models: [{ providerID: "own", modelID: "m" }],
  available: true,
  model: (modelID) =>
    modelID === "m"
      ? Effect.succeed({ info: { providerID: "own", modelID }, limitKey: "own/m", stream: () => Effect.void })
      : Effect.fail(new ModelUnavailable({ model: `own/${modelID}`, reason: "unknown_model", message: "Unknown." }))
}
const fallback = { providerID: "own", modelID: "m" }
const chooseModel = DefaultModel.chooseModel(fallback)

const say = (text: string) =>
  serve((response) => sse(response, ...wire.begin, ...wire.text(text), ...wire.finish("stop")).end())

/** Runs with the providers of this config and environment. */
const using =
  (config: ConfigInfo, env: Record<string, string> = {}) => <A, E>(body: Effect.Effect<A, E, Config | Provider>) =>
    body.pipe(
      Effect.provide(Providers.layer({ vendors: [own], fallback })),
      Effect.provide(Config.layer(config)),
      Effect.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(env)))))
    )

const resolve = (name: string) =>
  Effect.flatMap(Provider, (provider) => provider.resolve(parseRef(name) ?? { providerID: "?", modelID: "?" }))

const defaultModel = Effect.flatMap(Provider, (provider) => provider.defaultModel)

describe("Providers", () => {
  it.effect("without a key, the default is the fallback", () =>
    Effect.gen(function*() {
      expect(yield* defaultModel).toEqual(fallback)
      const model = yield* resolve("own/m")
      const list = yield* Effect.flatMap(Provider, (provider) => provider.list)
      expect(list.filter(({ providerID }) => providerID === "own")).toEqual([{ ...model.info, available: true }])
    }).pipe(using({})))

  it.effect("with a key, the default is OpenAI's, unless the config names a model", () =>
    Effect.gen(function*() {
      const env = { OPENAI_API_KEY: "sk-test" }
      expect(yield* defaultModel.pipe(using({}, env))).toEqual({ providerID: "openai", modelID: "gpt-6.1-sol" })
      expect(yield* defaultModel.pipe(using({ model: "openrouter/a/b" }, env))).toEqual({
        providerID: "openrouter",
        modelID: "a/b"
      })
    }))

  const chosenBy: Readonly<Record<string, string>> = {
    ANTHROPIC_API_KEY: "anthropic/claude-sonnet-5-5",
    CEREBRAS_API_KEY: "cerebras/gpt-oss-120b",
    DEEPSEEK_API_KEY: "deepseek/deepseek-flash",
    FIREWORKS_API_KEY: "fireworks/accounts/fireworks/models/gpt-oss-120b",
    MOONSHOT_API_KEY: "moonshot/kimi-k2.6",
    XAI_API_KEY: "xai/grok-4.7",
    ZAI_API_KEY: "zai/glm-5.1",
    GEMINI_API_KEY: "google/gemini-3.8-flash",
    GOOGLE_GENERATIVE_AI_API_KEY: "google/gemini-3.8-flash",
    GROQ_API_KEY: "groq/openai/gpt-oss-120b",
    MISTRAL_API_KEY: "mistral/devstral-latest",
    OPENAI_API_KEY: "openai/gpt-6.1-sol",
    OPENROUTER_API_KEY: "openrouter/openrouter/auto",
    TOGETHER_API_KEY: "together/openai/gpt-oss-120b"
  }
  for (const [keyName, model] of Object.entries(chosenBy)) {
    it.effect(`one key is enough: ${keyName}`, () =>
      Effect.gen(function*() {
        expect(formatRef(yield* defaultModel)).toBe(model)
        expect((yield* resolve(model)).info.providerID).toBe(model.split("/")[0])
        const list = yield* Effect.flatMap(Provider, (provider) => provider.list)
        expect(list.filter(({ available }) => available).map(formatRef)).toContain(model)
        expect(yield* chooseModel).toMatchObject({ keyName, otherKeys: [] })
      }).pipe(using({}, { [keyName]: "test" })))
  }

  it.scoped("Azure gets a deployment's name, its own path, and only fields that every deployment takes", () =>
    Effect.gen(function*() {
      const known = new Set([
        "model",
        "messages",
        "stream",
        "stream_options",
        "max_completion_tokens",
        "tools",
        "tool_choice"
      ])
      const server = yield* serve((response, _, { body, headers, url }) => {
        if (url !== "/openai/v1/chat/completions") return json(response, 404, { error: { message: "no such path" } })
        if (headers.authorization !== "Bearer az-123456") return json(response, 401, { error: { message: "bad key" } })
        const { model, ...fields } = JSON.parse(body) as { readonly model: string }
        const odd = Object.keys(fields).find((name) => !known.has(name))
        if (odd !== undefined) return json(response, 400, { error: { message: `Unsupported parameter: ${odd}` } })
        if (model !== "team-model") return json(response, 404, { error: { message: "DeploymentNotFound" } })
        return sse(response, ...wire.begin, ...wire.text("Hi"), ...wire.finish("stop")).end()
      })
      const env = {
        AZURE_OPENAI_API_KEY: "az-123456",
        AZURE_OPENAI_BASE_URL: server.url.replace("/v1", "/openai/v1")
      }
      const answer = yield* Effect.flatMap(resolve("azure/team-model"), (model) => ask(model, { maxOutputTokens: 100 }))
        .pipe(using({}, env))
      expect({ text: textOf(answer), error: answer.error }).toEqual({ text: "Hi", error: undefined })
      expect(JSON.parse(server.seen[0]?.body ?? "{}")).toMatchObject({ max_completion_tokens: 100 })
      expect(yield* DefaultModel.namings.pipe(using({}, env))).toEqual([
        "AZURE_OPENAI_API_KEY is set: name a model with -m azure/YOUR-DEPLOYMENT."
      ])
    }))

  it("lists all variables whose key chooses a model", () => {
    expect(DefaultModel.keyNames.toSorted()).toEqual(Object.keys(chosenBy).toSorted())
  })

  it.effect("with several keys, prefers OpenAI's, then the others by name", () =>
    Effect.gen(function*() {
      const keys = { MISTRAL_API_KEY: "m", GROQ_API_KEY: "g", DEEPSEEK_API_KEY: " " }
      const chosen = yield* chooseModel.pipe(using({}, keys))
      expect(chosen).toMatchObject({ keyName: "GROQ_API_KEY", otherKeys: ["MISTRAL_API_KEY"] })
      const withOpenAi = yield* chooseModel.pipe(using({}, { ...keys, OPENAI_API_KEY: "o" }))
      expect(withOpenAi).toMatchObject({ keyName: "OPENAI_API_KEY", otherKeys: ["GROQ_API_KEY", "MISTRAL_API_KEY"] })
    }))

  it.effect("prefers a configured provider over keys, with its first listed model", () =>
    Effect.gen(function*() {
      const gateway = { base_url: "http://127.0.0.1:1", key_env: "GATEWAY_KEY", models: { coder: {}, small: {} } }
      const config = { provider: { gateway, ollama: {} } }
      const keys = { OPENAI_API_KEY: "o", GATEWAY_KEY: "k" }
      expect(yield* chooseModel.pipe(using(config, keys))).toMatchObject({
        model: { providerID: "gateway", modelID: "coder" },
        keyName: "GATEWAY_KEY",
        otherKeys: ["OPENAI_API_KEY"]
      })
      expect(yield* chooseModel.pipe(using(config, { OPENAI_API_KEY: "o" }))).toMatchObject({
        keyName: "OPENAI_API_KEY"
      })
      const local = { provider: { ollama: { models: { "qwen3:8b": {} } } } }
      expect((yield* chooseModel.pipe(using(local))).model).toEqual({ providerID: "ollama", modelID: "qwen3:8b" })
    }))

  it.effect("resolves unlisted models of a known provider, at an unknown price", () =>
    Effect.gen(function*() {
      const model = yield* resolve("openai/m")
      expect(model.info).toEqual({ providerID: "openai", modelID: "m" })
    }).pipe(using({}, { OPENAI_API_KEY: "sk-test" })))

  it.effect("makes each model once", () =>
    Effect.gen(function*() {
      expect(yield* resolve("openai/m")).toBe(yield* resolve("openai/m"))
    }).pipe(using({}, { OPENAI_API_KEY: "sk-test" })))

  it.effect.each(["deepseek", "groq", "mistral", "openrouter", "together"] as const)(
    "%s needs its key",
    (id) =>
      Effect.gen(function*() {
        const { keyName } = OpenAiCompatible.presets[id]
        const error = yield* Effect.flip(resolve(`${id}/m`).pipe(using({})))
        expect(error).toMatchObject({ reason: "no_key" })
        expect(error.message).toContain(keyName)
        yield* resolve(`${id}/m`).pipe(using({}, { [keyName]: "k-123456" }))
      })
  )

  it.effect.each(
    [
      ["ollama/m", {}, 600_000],
      ["lmstudio/m", {}, 600_000],
      ["llamacpp/m", {}, 600_000],
      ["vllm/m", { provider: { vllm: { base_url: "https://gpu.example/v1" } } }, 600_000],
      ["mine/m", { provider: { mine: { base_url: "http://localhost:9/v1" } } }, 600_000],
      ["mine/m", { provider: { mine: { base_url: "https://models.example/v1" } } }, undefined],
      ["ollama/m", { deadlines: { first_event: 5_000 } }, 5_000],
      ["ollama/m", { deadlines: { first_event: 120_000 } }, 120_000],
      ["ollama/m", { deadlines: { idle: 5_000 } }, 600_000],
      ["mine/m", {
        provider: { mine: { base_url: "http://localhost:9/v1" } },
        deadlines: { first_event: 120_000 }
      }, 120_000],
      ["openai/m", { provider: { openai: { base_url: "http://127.0.0.1:9/v1", api: "responses" } } }, 600_000]
    ] as const
  )("%s has this deadline for the first content with %j", ([name, config, firstEvent]) =>
    Effect.gen(function*() {
      expect((yield* resolve(name)).firstEvent).toBe(firstEvent)
    }).pipe(using(config)))

  it.effect.each(["llamacpp", "lmstudio", "ollama", "vllm"] as const)(
    "%s needs no key",
    (id) => resolve(`${id}/m`).pipe(using({}))
  )

  it.scoped("takes the base URL of a preset from the config, else from the environment", () =>
    Effect.gen(function*() {
      const first = yield* say("from the environment")
      const second = yield* say("from the config")
      const env = { OLLAMA_BASE_URL: first.url }
      const spoken = Effect.flatMap(resolve("ollama/m"), (model) => Effect.map(ask(model), textOf))
      expect(yield* spoken.pipe(using({}, env))).toBe("from the environment")
      expect(yield* spoken.pipe(using({ provider: { ollama: { base_url: second.url } } }, env))).toBe("from the config")
    }))

  it.scoped("sets up a provider with a custom name", () =>
    Effect.gen(function*() {
      const server = yield* say("hi")
      yield* Effect.gen(function*() {
        const model = yield* resolve("corp/big")
        expect(textOf(yield* ask(model))).toBe("hi")
        expect(server.seen[0]?.headers).toMatchObject({ authorization: "Bearer k-corporate", "x-team": "a" })
        expect(model.info).toMatchObject({ name: "Big", price: { input: "1", output: "2" } })
      }).pipe(using({
        provider: {
          corp: {
            base_url: server.url,
            key_env: "CORP_KEY",
            headers: { "x-team": "a" },
            models: { big: { name: "Big", price: { input: "1", output: "2" } } }
          }
        }
      }, { CORP_KEY: "k-corporate" }))
    }))

  it.scoped("sets up a second OpenAI account with the configured API", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => response.writeHead(401).end())
      const config = {
        provider: { work: { type: "openai", base_url: server.url, api: "responses", key_env: "WORK_KEY" } as const }
      }
      yield* Effect.gen(function*() {
        const { error } = yield* ask(yield* resolve("work/gpt-5"))
        expect(server.seen[0]?.url).toBe("/v1/responses")
        expect(error?.message).toContain("Check WORK_KEY.")
      }).pipe(using(config, { WORK_KEY: "k-123456" }))
    }))

  it.scoped("sets up servers of your own with the API of Anthropic or Google, and sends them no other's key", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => response.writeHead(401).end())
      const env = { ANTHROPIC_API_KEY: "sk-ant-1", GEMINI_API_KEY: "AIza-1", WORK_KEY: "k-123456" }
      for (const [type, path] of [["anthropic", "/v1/messages"], ["google", "/v1/models/m"]] as const) {
        const work = { type, base_url: server.url }
        const refused = (provider: object) =>
          Effect.flatMap(resolve("work/m"), ask).pipe(using({ provider: { work: { ...work, ...provider } } }, env))
        expect((yield* refused({ key_env: "WORK_KEY" })).error?.message).toContain("Check WORK_KEY.")
        expect(server.seen.at(-1)?.url).toContain(path)
        expect(JSON.stringify(server.seen.at(-1)?.headers)).toContain("k-123456")
        expect((yield* refused({})).error?.message).toContain("Set key_env")
        expect(JSON.stringify(server.seen.at(-1)?.headers)).not.toMatch(/sk-ant-1|AIza-1/)
      }
    }))

  it.effect("says that a provider has no base URL", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(resolve("corp/m"))
      expect(error).toMatchObject({ reason: "bad_config" })
      expect(error.message).toContain("base_url")
    }).pipe(using({ provider: { corp: {} } })))

  it.effect("suggests a provider for a misspelled name", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(resolve("deepsek/m"))
      expect(error).toMatchObject({ reason: "unknown_provider", model: "deepsek/m" })
      expect(error.message).toContain("Did you mean deepseek/m?")
      expect((yield* Effect.flip(resolve("zzzzzzzz/m"))).message).not.toContain("Did you mean")
      expect((yield* Effect.flip(resolve("own/gpt"))).reason).toBe("unknown_model")
    }).pipe(using({})))

  it.effect("lists known models sorted, with their availability", () =>
    Effect.gen(function*() {
      const list = yield* Effect.flatMap(Provider, (provider) => provider.list)
      const names = list.map(({ modelID, providerID }) => `${providerID} ${modelID}`)
      expect(names).toEqual(names.toSorted())
      const available = new Set(list.filter((model) => model.available).map(({ providerID }) => providerID))
      expect(available).toEqual(new Set(["groq", "ollama", "own"]))
      expect(names).toContain("openai gpt-6.1-sol")
      expect(names).toContain("ollama qwen")
    }).pipe(using({ provider: { ollama: { models: { qwen: {} } } } }, { GROQ_API_KEY: "gsk_123456" })))
})
