/** What Skein reads in the events of OpenAI's Responses API. */
import { type Fields, fields } from "../json.ts"
import { isError, isKnown, type Protocol } from "../knownEvents.ts"
import { numbersIn } from "./counts.ts"

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
      const all = textIn(whole["arguments"]) ?? this.#arguments.get(at) ?? ""
      return [...begin, { type, output_index: at, item: { ...item, arguments: all, status: "completed" } }]
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
export const responsesEvents: Protocol = { isKnown, makeReader: () => new ResponsesReader().read }
