/** OpenAI's models: the Responses API through `@ai-sdk/openai`, or Chat Completions if you set a base URL. */
import { Provider } from "@skein/core/Provider"
import { all, type Config } from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { Scope } from "effect/Scope"
import { openAiDialect } from "./internal/chat/chatBody.ts"
import * as ChatModel from "./internal/chat/chatModel.ts"
import { isError, isKnown, type Protocol } from "./internal/eventStream.ts"
import { makeFetch } from "./internal/fetch.ts"
import { type Fields, fields } from "./internal/json.ts"
import { isOfficial, keyFrom, makeHttpVendor, numbersIn, textFrom } from "./internal/vendor.ts"
import * as LanguageModelAdapter from "./LanguageModelAdapter.ts"
import { onlyVendor, type Vendor, type VendorOptions } from "./Vendor.ts"

const textIn = (value: unknown): string | undefined => typeof value === "string" ? value : undefined

const phases = new Set<unknown>(["commentary", "final_answer"])

const phaseOf = ({ phase }: Fields): Fields => phases.has(phase) ? { phase } : {}

/** The usage, if the counts that matter are there. */
const usageOf = (response: Fields): Fields => {
  const usage = fields(response["usage"]) ?? {}
  const counts = numbersIn(usage, ["input_tokens", "output_tokens"])
  if (Object.keys(counts).length < 2) return {}
  const input = numbersIn(fields(usage["input_tokens_details"]) ?? {}, ["cached_tokens", "cache_write_tokens"])
  const output = numbersIn(fields(usage["output_tokens_details"]) ?? {}, ["reasoning_tokens"])
  return { usage: { ...counts, input_tokens_details: input, output_tokens_details: output } }
}

const incompleteDetails = (type: string, response: Fields): Fields => {
  const reason = textIn(fields(response["incomplete_details"])?.["reason"])
  return type === "response.completed" && reason === undefined
    ? {}
    : { incomplete_details: { reason: reason ?? "no reason given" } }
}

const failed = (type: string, response: Fields): Fields => {
  const { code, message } = fields(response["error"]) ?? {}
  const error = { code: textIn(code), message: textIn(message) ?? "it gave no reason" }
  return { type, sequence_number: 0, response: { error } }
}

/** The texts and refusals of a whole message. */
const contentOf = ({ content }: Fields): ReadonlyArray<readonly [type: string, text: string]> =>
  (Array.isArray(content) ? content : []).flatMap((each) => {
    const { refusal, text } = fields(each) ?? {}
    return [
      ...typeof text === "string" ? [["response.output_text.delta", text] as const] : [],
      ...typeof refusal === "string" ? [["response.refusal.delta", refusal] as const] : []
    ]
  })

/** Rewrites the events of one answer. Items are known by their place in it. */
class ResponsesReader {
  readonly #ids = new Map<unknown, string>()
  /** The places of messages of which a piece has arrived. */
  readonly #spoken = new Set<unknown>()
  /** The ids of reasonings. */
  readonly #reasonings = new Set<unknown>()
  /** The arguments of calls as far as they have arrived. */
  readonly #arguments = new Map<unknown, string>()

  readonly read = (chunk: Fields, name: string): ReadonlyArray<Fields> => {
    // The type may be only in the event name.
    const type = textIn(chunk["type"]) ?? name
    const at = chunk["output_index"] ?? 0
    const { delta } = chunk
    switch (type) {
      case "response.output_item.added":
        return this.#begin(at, this.#item(at, fields(chunk["item"]) ?? {}))
      case "response.output_item.done":
        return this.#end(at, fields(chunk["item"]) ?? {})
      case "response.output_text.delta":
      case "response.refusal.delta":
        return [this.#say(type, at, delta)]
      case "response.function_call_arguments.delta":
        this.#arguments.set(at, (this.#arguments.get(at) ?? "") + (textIn(delta) ?? ""))
        return [{ type, item_id: this.#idOf(at), output_index: at, delta }]
      case "response.reasoning_summary_part.added":
      case "response.reasoning_summary_part.done":
        return this.#summary(type, chunk)
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        return this.#summary("response.reasoning_summary_text.delta", chunk, { delta })
      case "response.completed":
      case "response.incomplete": {
        const response = fields(chunk["response"]) ?? {}
        return [{ type, response: { ...incompleteDetails(type, response), ...usageOf(response) } }]
      }
      case "response.failed":
        return [failed(type, fields(chunk["response"]) ?? {})]
      default:
        return isError(chunk) ? [chunk] : []
    }
  }

  #idOf(at: unknown, given?: unknown): string {
    return this.#ids.get(at) ?? textIn(given) ?? `item_${String(at)}`
  }

  /** What to read of an item; undefined if its kind is unknown. */
  #item(at: unknown, item: Fields): Fields | undefined {
    const id = this.#idOf(at, item["id"])
    switch (item["type"]) {
      case "message":
        return { type: "message", id, ...phaseOf(item) }
      case "reasoning":
        this.#reasonings.add(id)
        return { type: "reasoning", id, encrypted_content: textIn(item["encrypted_content"]) ?? null }
      case "function_call":
        return {
          type: "function_call",
          id,
          call_id: textIn(item["call_id"]) ?? id,
          name: item["name"] ?? "",
          arguments: textIn(item["arguments"]) ?? ""
        }
      default:
        return undefined
    }
  }

  #begin(at: unknown, item: Fields | undefined): ReadonlyArray<Fields> {
    if (item === undefined) return []
    this.#ids.set(at, String(item["id"]))
    return [{ type: "response.output_item.added", output_index: at, item }]
  }

  #end(at: unknown, whole: Fields): ReadonlyArray<Fields> {
    const isNew = !this.#ids.has(at)
    const item = this.#item(at, whole)
    if (item === undefined) return []
    const begin = isNew ? this.#begin(at, item) : []
    const type = "response.output_item.done"
    if (item["type"] === "function_call") {
      const text = textIn(whole["arguments"]) ?? this.#arguments.get(at) ?? ""
      return [...begin, { type, output_index: at, item: { ...item, arguments: text, status: "completed" } }]
    }
    // Some servers send no deltas.
    const isUnsaid = item["type"] === "message" && !this.#spoken.has(at)
    const said = isUnsaid ? contentOf(whole).map(([kind, text]) => this.#say(kind, at, text)) : []
    return [...begin, ...said, { type, output_index: at, item }]
  }

  #say(type: string, at: unknown, delta: unknown): Fields {
    this.#spoken.add(at)
    return { type, item_id: this.#idOf(at), output_index: at, delta }
  }

  /** A piece of the summary of a reasoning that has begun. */
  #summary(type: string, { item_id, summary_index = 0 }: Fields, more: Fields = {}): ReadonlyArray<Fields> {
    return this.#reasonings.has(item_id) ? [{ type, item_id, summary_index, ...more }] : []
  }
}

/** OpenAI's Responses API. */
const responsesEvents: Protocol = { isKnown, makeReader: () => new ResponsesReader().read }

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
          const own = openAiDialect(setup.info.modelID, isOpenAi, id === "azure")
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
