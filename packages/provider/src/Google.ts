/** Google's Gemini models, through `@ai-sdk/google`. */
import type { JSONObject } from "@ai-sdk/provider"
import { type ModelRequest, Provider } from "@skein/core/Provider"
import { all, type Config, map as mapConfig } from "effect/Config"
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
import { isOfficial, keyFrom, makeHttpVendor, noCount, textFrom, withVersion } from "./internal/vendor.ts"
import * as LanguageModelAdapter from "./LanguageModelAdapter.ts"
import { onlyVendor, type Vendor, type VendorOptions } from "./Vendor.ts"

const textsIn = (value: Fields, names: ReadonlyArray<string>): Fields =>
  Object.fromEntries(names.flatMap((name) => typeof value[name] === "string" ? [[name, value[name]]] : []))

const counts = [
  "promptTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
  "cachedContentTokenCount",
  "toolUsePromptTokenCount"
]

/** The API leaves out a count of 0, so a missing count is 0. A count of another type is unknown. */
const usageOf = (usage: Fields): Fields =>
  Object.fromEntries(counts.flatMap((name) => {
    const count = usage[name] ?? undefined
    return count === undefined ? [] : [[name, typeof count === "number" ? count : noCount]]
  }))

const callOf = (call: Fields): Fields => {
  const { args, id, partialArgs, willContinue } = call
  return {
    ...textsIn(call, ["name"]),
    ...id === undefined || id === null ? {} : { id: String(id) },
    ...args === undefined ? {} : { args },
    ...Array.isArray(partialArgs) ? { partialArgs } : {},
    ...typeof willContinue === "boolean" ? { willContinue } : {}
  }
}

/** A text, a thought or a call; what else there is would have to be asked for. */
const partOf = (value: unknown): ReadonlyArray<Fields> => {
  const part = fields(value) ?? {}
  const signature = textsIn(part, ["thoughtSignature"])
  const call = fields(part["functionCall"])
  if (call !== undefined) return [{ functionCall: callOf(call), ...signature }]
  const { text } = part
  if (typeof text !== "string" && signature["thoughtSignature"] === undefined) return []
  return [{ text: text ?? "", ...part["thought"] === true ? { thought: true } : {}, ...signature }]
}

const candidateOf = (candidate: Fields): Fields => {
  const { parts } = fields(candidate["content"]) ?? {}
  return {
    content: { parts: Array.isArray(parts) ? parts.flatMap(partOf) : [] },
    ...textsIn(candidate, ["finishReason", "continuationToken"])
  }
}

const read = (chunk: Fields): ReadonlyArray<Fields> => {
  if (isError(chunk)) return [chunk]
  const { candidates, promptFeedback, usageMetadata } = chunk
  const first = fields(Array.isArray(candidates) ? candidates[0] : undefined)
  const feedback = fields(promptFeedback)
  const usage = fields(usageMetadata)
  if (first === undefined && feedback === undefined && usage === undefined) return []
  return [{
    ...first === undefined ? {} : { candidates: [candidateOf(first)] },
    ...feedback === undefined ? {} : { promptFeedback: textsIn(feedback, ["blockReason"]) },
    ...usage === undefined ? {} : { usageMetadata: usageOf(usage) }
  }]
}

/** Google's Generative Language API. */
const generateEvents: Protocol = {
  isKnown: (type) => type === "message" || type === "error",
  makeReader: () => read
}

const official = "https://generativelanguage.googleapis.com/v1beta"

/** The variables that hold the key, the first one that is set wins, and the one that can override the base URL. */
export const variables = {
  keyNames: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
  baseUrlName: "GOOGLE_GEMINI_BASE_URL"
} as const

/** The default model. */
export const defaultModel = { providerID: "google", modelID: "gemini-3.8-flash" }

/** How to reach Google, or a server with the same API; `/v1beta` is added to a base URL without a version. */
export type GoogleOptions = VendorOptions

const levels: Readonly<Record<string, string>> = {
  none: "minimal",
  minimal: "minimal",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high"
}

/** Budgets of Gemini 2.5, in tokens. */
const budgets: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 512,
  low: 2_048,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576
}

/** How much a model thinks, and that it shows what it thinks. Throws `Unaskable` for an unknown variant. */
const thinkingOf = (modelID: string, { origin, variant }: ModelRequest): JSONObject => {
  if (variant !== undefined && levels[variant] === undefined) {
    throw new Unaskable(`it knows the efforts ${Object.keys(levels).join(", ")}, and no ${variant}`, unknownVariant)
  }
  if (!/gemini-/.test(modelID) || /gemini-(?:1|2\.0)/.test(modelID)) return {}
  const includeThoughts = origin.purpose === "turn"
  const wished = variant ?? (origin.purpose === "title" ? "low" : undefined)
  if (wished === undefined) return { thinkingConfig: { includeThoughts } }
  const amount = /gemini-2\.5/.test(modelID)
    ? { thinkingBudget: budgets[wished] ?? null }
    : { thinkingLevel: levels[wished] ?? null }
  return { thinkingConfig: { includeThoughts, ...amount } }
}

/** The vendor of Google's models. */
export const make = (options: GoogleOptions = {}): Effect.Effect<Vendor, never, Scope> => {
  const { apiKey, headers = {}, id = "google" } = options
  const baseUrl = withVersion(options.baseUrl ?? official, "v1beta")
  const isOwn = id === "google"
  return makeHttpVendor({
    id,
    baseUrl,
    baseUrlName: isOwn ? variables.baseUrlName : undefined,
    firstEvent: options.firstEvent,
    apiKey,
    keyName: options.keyName ?? (isOwn ? variables.keyNames[0] : undefined),
    needsKey: isOfficial(baseUrl, official),
    headers,
    models: options.models ?? {},
    load: async (send) => {
      const { createGoogleGenerativeAI } = await import("@ai-sdk/google")
      const google = createGoogleGenerativeAI({
        baseURL: baseUrl,
        // Without a key, the SDK would read the environment itself.
        apiKey: apiKey === undefined ? "none" : Redacted.value(apiKey),
        headers: { ...headers },
        fetch: makeFetch(send, generateEvents)
      })
      return (setup) =>
        LanguageModelAdapter.make({
          ...setup,
          model: google(setup.info.modelID),
          // Its servers keep what requests have in common by themselves.
          providerOptions: (request) => ({ google: thinkingOf(setup.info.modelID, request) })
        })
    }
  })
}

/** Google as the only provider. */
export const layerOptions = (options: GoogleOptions = {}): Layer.Layer<Provider> =>
  onlyVendor(make(options), defaultModel)

/** Google as the only provider, set up by configs. */
export const layerConfig = (
  configs: {
    readonly [K in keyof GoogleOptions]?: Config<GoogleOptions[K]>
  }
): Layer.Layer<Provider, ConfigError> =>
  Layer.unwrapEffect(Effect.map(all(configs), (options) => layerOptions(options as GoogleOptions)))

/** Google as the only provider, set up by the variables above. */
export const layer: Layer.Layer<Provider, ConfigError> = layerConfig({
  apiKey: mapConfig(all(variables.keyNames.map(keyFrom)), (keys) => keys.find((key) => key !== undefined)),
  baseUrl: textFrom(variables.baseUrlName)
})
