/** OpenAI's models: the Responses API through `@ai-sdk/openai`, or Chat Completions if you set a base URL. */
import { Provider } from "@skein/core/Provider"
import { all, type Config } from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { Scope } from "effect/Scope"
import * as ChatModel from "./internal/chat/chatModel.ts"
import { openAiDialect } from "./internal/chat/openAiDialect.ts"
import { keyFrom, textFrom } from "./internal/environment.ts"
import { responsesEvents } from "./internal/events/responsesEvents.ts"
import { makeFetch } from "./internal/fetch.ts"
import { makeHttpVendor } from "./internal/vendor.ts"
import { isOfficial } from "./internal/versioned.ts"
import * as LanguageModelAdapter from "./LanguageModelAdapter.ts"
import { onlyVendor, type Vendor, type VendorOptions } from "./Vendor.ts"

const official = "https://api.openai.com/v1"

/** The default model. */
export const defaultModel = { providerID: "openai", modelID: "gpt-6.1-sol" }

/** How to reach OpenAI, or a server with the same API. */
export interface OpenAiOptions extends VendorOptions {
  /** Which API to use; `responses` by default, `chat` if you set a base URL. */
  readonly api?: "chat" | "responses" | undefined
}

/** The vendor of OpenAI's models. */
export const make = (options: OpenAiOptions = {}): Effect.Effect<Vendor, never, Scope> => {
  const { apiKey, baseUrl = official, headers = {}, id = "openai" } = options
  const isOpenAi = isOfficial(baseUrl, official)
  const responses = (options.api ?? (isOpenAi ? "responses" : "chat")) === "responses"
  return makeHttpVendor({
    id,
    baseUrl,
    ...id === "openai" ? { baseUrlName: "OPENAI_BASE_URL" } : {},
    firstEvent: options.firstEvent,
    apiKey,
    keyName: options.keyName ?? "OPENAI_API_KEY",
    needsKey: isOpenAi,
    headers,
    models: options.models ?? {},
    load: async (send) => {
      if (!responses) {
        return (setup) => {
          const own = openAiDialect(setup.info.modelID, isOpenAi)
          // OpenAI's own servers send no reasoning.
          const dialect = isOpenAi ? own : { ...own, reasoning: id }
          return ChatModel.make({ ...setup, send, apiKey, headers, dialect })
        }
      }
      const { createOpenAI } = await import("@ai-sdk/openai")
      const openai = createOpenAI({
        baseURL: baseUrl,
        // Without a key, the SDK would read the environment itself.
        apiKey: apiKey === undefined ? "none" : Redacted.value(apiKey),
        headers: { ...headers },
        fetch: makeFetch(send, responsesEvents)
      })
      return (setup) =>
        LanguageModelAdapter.make({
          ...setup,
          model: openai.responses(setup.info.modelID),
          // By default this API makes tools strict, which makes every argument required.
          style: { lenientTools: true },
          providerOptions: ({ origin, variant }) => ({
            openai: {
              ...variant === undefined ? {} : { reasoningEffort: variant },
              // Skein stores conversations itself. Reasoning goes back to the model encrypted.
              store: false,
              // Other servers may refuse unknown fields.
              ...isOpenAi ? { promptCacheKey: origin.cachedAs ?? origin.sessionID } : {}
            }
          })
        })
    }
  })
}

/** OpenAI as the only provider. */
export const layerOptions = (options: OpenAiOptions = {}): Layer.Layer<Provider> =>
  onlyVendor(make(options), defaultModel)

/** OpenAI as the only provider, set up by configs. */
export const layerConfig = (
  configs: {
    readonly [K in keyof OpenAiOptions]?: Config<OpenAiOptions[K]>
  }
): Layer.Layer<Provider, ConfigError> =>
  Layer.unwrapEffect(Effect.map(all(configs), (options) => layerOptions(options as OpenAiOptions)))

/** OpenAI as the only provider, set up by `OPENAI_API_KEY` and `OPENAI_BASE_URL`. */
export const layer: Layer.Layer<Provider, ConfigError> = layerConfig({
  apiKey: keyFrom("OPENAI_API_KEY"),
  baseUrl: textFrom("OPENAI_BASE_URL")
})
