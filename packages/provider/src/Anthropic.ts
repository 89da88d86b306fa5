/** Anthropic's models, through `@ai-sdk/anthropic`. */
import type { JSONObject, LanguageModelV3CallOptions } from "@ai-sdk/provider"
import { type ModelRequest, Provider } from "@skein/core/Provider"
import type { ModelInfo } from "@skein/domain/Model"
import { all, type Config } from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { Scope } from "effect/Scope"
import { Unaskable } from "./internal/errors.ts"
import { isError, type Protocol } from "./internal/eventStream.ts"
import { unknownVariant } from "./internal/failure.ts"
import { makeFetch } from "./internal/fetch.ts"
import { type Fields, fields } from "./internal/json.ts"
import { countIn, isOfficial, keyFrom, makeHttpVendor, numbersIn, textFrom, withVersion } from "./internal/vendor.ts"
import * as LanguageModelAdapter from "./LanguageModelAdapter.ts"
import { onlyVendor, type Vendor, type VendorOptions } from "./Vendor.ts"

/** What a request says about thinking, and its maximum of tokens besides a budget for thinking. */
interface Thinking {
  readonly options: JSONObject
  readonly maxOutputTokens?: number | undefined
}

const efforts = ["none", "low", "medium", "high", "xhigh", "max"]

/** Models up to 4.5, which think within a budget of tokens, on request. */
const budgeted = /claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-\d{8}|-latest)?$)/

/** Models whose sampling can be set, but not while they think. */
const sampled = /claude-(?:opus|sonnet)-4-6/

/** Models that bind their thinking to the conversation so far: they refuse it if anything before it has changed. */
const bound = /claude-(?:(?:opus|sonnet|haiku)-(?:5-[5-9]|[6-9])|(?:fable|mythos)-(?:5-[1-9]|[6-9]))/

/** Budgets by variant, in tokens. */
const budgets: Readonly<Record<string, number>> = {
  low: 4_000,
  medium: 10_000,
  high: 24_000,
  xhigh: 31_999,
  max: 31_999
}

/** The smallest budget that the API takes, and what at least has to be left for the answer. */
const smallest = 1_024

const budgetFor = (variant: string | undefined, cap: number | undefined): Thinking => {
  const wished = variant === undefined ? undefined : budgets[variant]
  const budget = wished === undefined ? 0 : Math.min(wished, (cap ?? Infinity) - smallest)
  if (budget < smallest) return { options: {}, maxOutputTokens: cap }
  // The AI SDK adds the budget to the maximum.
  return {
    options: { thinking: { type: "enabled", budgetTokens: budget } },
    maxOutputTokens: cap === undefined ? undefined : cap - budget
  }
}

/**
 * The options of the AI SDK for thinking; throws `Unaskable` for an unknown variant. `cap` is the maximum of an answer,
 * including what is thought. Older models refuse to think where the calls before were made without. Newer models think as much as they see fit, by default: this asks for summaries to show.
 */
const thinkingOf = (
  modelID: string,
  { origin, temperature, topP, variant }: ModelRequest,
  cap: number | undefined,
  hasNotThought = false
): Thinking => {
  if (variant !== undefined && !efforts.includes(variant)) {
    throw new Unaskable(`it knows the efforts ${efforts.join(", ")}, and no ${variant}`, unknownVariant)
  }
  if (!modelID.includes("claude-") || budgeted.test(modelID)) {
    return budgetFor(hasNotThought ? undefined : variant, cap)
  }
  const plain = { maxOutputTokens: cap }
  // A title needs no thought.
  const wished = variant ?? (origin.purpose === "title" ? "none" : undefined)
  if (wished === "none") return { options: { thinking: { type: "disabled" }, effort: "low" }, ...plain }
  if (wished === undefined && sampled.test(modelID) && (temperature ?? topP) !== undefined) {
    return { options: {}, ...plain }
  }
  return {
    options: {
      thinking: {
        type: "adaptive",
        display: "summarized",
        // Compaction and a new date change what stands before.
        ...bound.test(modelID) ? { blockBinding: { prefixMismatchBehavior: "drop_block" } } : {}
      },
      ...wished === undefined ? {} : { effort: wished }
    },
    ...plain
  }
}

const events = /^(?:message_(?:start|delta|stop)|content_block_(?:start|delta|stop)|error|ping)$/

const cacheCounts = ["cache_read_input_tokens", "cache_creation_input_tokens"]

const deltas = new Set(["text_delta", "thinking_delta", "signature_delta", "input_json_delta"])

const filled = (value: unknown): value is string => typeof value === "string" && value !== ""

/** The beginning of a block as the AI SDK takes it, and deltas for what a server put into it; undefined if unknown. */
const beginning = (block: Fields, index: unknown): readonly [Fields, ...ReadonlyArray<Fields>] | undefined => {
  switch (block["type"]) {
    case "text": {
      const { text } = block
      return [{ type: "text", text: "" }, ...filled(text) ? [{ type: "text_delta", text }] : []]
    }
    case "thinking": {
      const { signature, thinking } = block
      return [
        { type: "thinking", thinking: "" },
        ...filled(thinking) ? [{ type: "thinking_delta", thinking }] : [],
        ...filled(signature) ? [{ type: "signature_delta", signature }] : []
      ]
    }
    case "redacted_thinking":
      return [{ type: "redacted_thinking", data: block["data"] }]
    case "tool_use": {
      const { id, input, name } = block
      const given = Array.isArray(input) ? undefined : fields(input)
      return [{
        type: "tool_use",
        id: filled(id) ? id : `call_${String(index)}`,
        name: name ?? "",
        ...given === undefined ? {} : { input: given }
      }]
    }
    default:
      return undefined
  }
}

/** Rewrites the events of one answer. */
const makeReader = () => {
  const skipped = new Set<unknown>()
  let reason: unknown

  const begin = (index: unknown, block: Fields): ReadonlyArray<Fields> => {
    const begun = beginning(block, index)
    if (begun === undefined) {
      skipped.add(index)
      return []
    }
    skipped.delete(index)
    const [start, ...more] = begun
    return [
      { type: "content_block_start", index, content_block: start },
      ...more.map((delta) => ({ type: "content_block_delta", index, delta }))
    ]
  }

  return (chunk: Fields): ReadonlyArray<Fields> => {
    const { index, type } = chunk
    if (!events.test(String(type))) return isError(chunk) ? [chunk] : []
    switch (type) {
      case "message_start": {
        const { id, usage } = fields(chunk["message"]) ?? {}
        const counts = fields(usage) ?? {}
        const read = { input_tokens: countIn(counts, "input_tokens"), ...numbersIn(counts, cacheCounts) }
        return [{ type, message: { ...typeof id === "string" ? { id } : {}, usage: read } }]
      }
      case "message_delta": {
        // A server may send several: the last reason holds.
        const { stop_reason } = fields(chunk["delta"]) ?? {}
        if (typeof stop_reason === "string") reason = stop_reason
        const counts = fields(chunk["usage"]) ?? {}
        const details = numbersIn(fields(counts["output_tokens_details"]) ?? {}, ["thinking_tokens"])
        const usage = {
          ...numbersIn(counts, ["input_tokens", ...cacheCounts]),
          output_tokens: countIn(counts, "output_tokens"),
          output_tokens_details: details
        }
        return [{ type, delta: { stop_reason: reason }, usage }]
      }
      case "message_stop":
        return [{ type }]
      case "content_block_start":
        return begin(index, fields(chunk["content_block"]) ?? {})
      case "content_block_delta": {
        const { delta } = chunk
        const isKnown = deltas.has(String(fields(delta)?.["type"]))
        return isKnown && !skipped.has(index) ? [{ type, index, delta }] : []
      }
      case "content_block_stop":
        return skipped.has(index) ? [] : [{ type, index }]
      case "error":
        return [chunk]
      default:
        return []
    }
  }
}

/** Anthropic's Messages API. */
const messagesEvents: Protocol = {
  isKnown: (type) => type === "message" || (type !== "ping" && events.test(type)),
  makeReader
}

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
