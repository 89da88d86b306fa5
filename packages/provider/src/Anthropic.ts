/** Anthropic's models, through `@ai-sdk/anthropic`. */
import type { LanguageModelV3CallOptions } from "@ai-sdk/provider"
import { type ModelRequest, Provider } from "@skein/core/Provider"
import type { ModelInfo } from "@skein/domain/Model"
import type { Config } from "effect/Config"
import { all } from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { Scope } from "effect/Scope"
import { keyFrom, textFrom } from "./internal/environment.ts"
import { messagesEvents } from "./internal/events/messagesEvents.ts"
import { makeFetch } from "./internal/fetch.ts"
import { thinkingOf } from "./internal/messages/thinking.ts"
import { makeHttpVendor } from "./internal/vendor.ts"
import { isOfficial, withVersion } from "./internal/versioned.ts"
import * as LanguageModelAdapter from "./LanguageModelAdapter.ts"
import { onlyVendor, type Vendor, type VendorOptions } from "./Vendor.ts"

const official = "https://api.anthropic.com/v1"

/** The variables that hold the key and can override the base URL. */
export const variables = { keyNames: ["ANTHROPIC_API_KEY"], baseUrlName: "ANTHROPIC_BASE_URL" } as const

/** The default model. */
export const defaultModel = { providerID: "anthropic", modelID: "claude-sonnet-5-5" }

/** How to reach Anthropic, or a server with the same API; `/v1` is added to a base URL without a version. */
export type AnthropicOptions = VendorOptions

/** The API requires a maximum. The AI SDK knows those of Anthropic's own models. */
const usualMaximum = 32_000

const maximumOf = (info: ModelInfo, { maxOutputTokens }: ModelRequest): number | undefined =>
  maxOutputTokens ?? info.limit?.output ?? (info.modelID.includes("claude-") ? undefined : usualMaximum)

/** Calls in the history refer to tools: where a request offers none, the API wants those declared all the same. */
const withCalledTools = (options: LanguageModelV3CallOptions): LanguageModelV3CallOptions => {
  if ((options.tools ?? []).length > 0) return options
  const names = new Set(
    options.prompt.flatMap((message) =>
      message.role === "assistant"
        ? message.content.flatMap((part) => part.type === "tool-call" ? [part.toolName] : [])
        : []
    )
  )
  if (names.size === 0) return options
  return {
    ...options,
    tools: [...names].map((name) => ({
      type: "function",
      name,
      description: "Not available now.",
      inputSchema: { type: "object" }
    })),
    toolChoice: { type: "none" }
  }
}

/** Whether the answer continues after calls that were made without thinking. */
const hasNotThought = ({ prompt }: LanguageModelV3CallOptions): boolean => {
  if (prompt.at(-1)?.role !== "tool") return false
  const last = prompt.findLast(({ role }) => role === "assistant")
  return last?.role === "assistant" && !last.content.some(({ type }) => type === "reasoning")
}

/** Finishes the options of a call: thinking, the maximum of the answer, and tools. */
const prepare =
  (info: ModelInfo, isAnthropic: boolean) =>
  (options: LanguageModelV3CallOptions, request: ModelRequest): LanguageModelV3CallOptions => {
    const thinking = thinkingOf(info.modelID, request, maximumOf(info, request), hasNotThought(options))
    const { maxOutputTokens: _, ...rest } = withCalledTools(options)
    return {
      ...rest,
      ...thinking.maxOutputTokens === undefined ? {} : { maxOutputTokens: thinking.maxOutputTokens },
      // Other servers may refuse fields of tools that they do not know.
      providerOptions: { anthropic: { ...thinking.options, ...isAnthropic ? {} : { toolStreaming: false } } }
    }
  }

/** The vendor of Anthropic's models. */
export const make = (options: AnthropicOptions = {}): Effect.Effect<Vendor, never, Scope> => {
  const { apiKey, headers = {}, id = "anthropic" } = options
  const baseUrl = withVersion(options.baseUrl ?? official, "v1")
  const isAnthropic = isOfficial(baseUrl, official)
  const isOwn = id === "anthropic"
  return makeHttpVendor({
    id,
    baseUrl,
    baseUrlName: isOwn ? variables.baseUrlName : undefined,
    firstEvent: options.firstEvent,
    apiKey,
    keyName: options.keyName ?? (isOwn ? variables.keyNames[0] : undefined),
    needsKey: isAnthropic,
    headers,
    models: options.models ?? {},
    load: async (send) => {
      const { createAnthropic } = await import("@ai-sdk/anthropic")
      const anthropic = createAnthropic({
        baseURL: baseUrl,
        // Without a key, the SDK would read the environment itself.
        apiKey: apiKey === undefined ? "none" : Redacted.value(apiKey),
        headers: { ...headers },
        fetch: makeFetch(send, messagesEvents)
      })
      return (setup) =>
        LanguageModelAdapter.make({
          ...setup,
          model: anthropic(setup.info.modelID),
          keepsMarked: true,
          prepare: prepare(setup.info, isAnthropic)
        })
    }
  })
}

/** Anthropic as the only provider. */
export const layerOptions = (options: AnthropicOptions = {}): Layer.Layer<Provider> =>
  onlyVendor(make(options), defaultModel)

/** Anthropic as the only provider, set up by configs. */
export const layerConfig = (
  configs: {
    readonly [K in keyof AnthropicOptions]?: Config<AnthropicOptions[K]>
  }
): Layer.Layer<Provider, ConfigError> =>
  Layer.unwrapEffect(Effect.map(all(configs), (options) => layerOptions(options as AnthropicOptions)))

/** Anthropic as the only provider, set up by `ANTHROPIC_API_KEY` and `ANTHROPIC_BASE_URL`. */
export const layer: Layer.Layer<Provider, ConfigError> = layerConfig({
  apiKey: keyFrom(variables.keyNames[0]),
  baseUrl: textFrom(variables.baseUrlName)
})
