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

/** Rewrites the events of one answer. */
const makeReader = () => {
  /** The ids of messages and reasonings by their place in the answer. */
  const ids = new Map<unknown, string>()
  /** The places of messages and refusals of which a part has arrived. */
  const spoken = new Set<unknown>()
  const reasonings = new Set<unknown>()
  /** The arguments of calls as far as they have arrived. */
  const sofar = new Map<unknown, string>()

  const idOf = (at: unknown, given: unknown): string => ids.get(at) ?? textIn(given) ?? `item_${String(at)}`

  const added = (at: unknown, item: Fields): Fields | undefined => {
    const id = idOf(at, item["id"])
    ids.set(at, id)
    switch (item["type"]) {
      case "message":
        return { type: "message", id, ...phaseOf(item) }
      case "reasoning":
        reasonings.add(id)
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

  const delta = (type: string, at: unknown, text: unknown): Fields => {
    spoken.add(at)
    return { type, item_id: idOf(at, undefined), output_index: at, delta: text }
  }

  const done = (at: unknown, item: Fields): ReadonlyArray<Fields> => {
    const isNew = !ids.has(at)
    const read = added(at, item)
    if (read === undefined) return []
    const begin = isNew ? [{ type: "response.output_item.added", output_index: at, item: read }] : []
    const end = (more: Fields = {}) => ({
      type: "response.output_item.done",
      output_index: at,
      item: { ...read, ...more }
    })
    if (item["type"] === "function_call") {
      const all = textIn(item["arguments"]) ?? sofar.get(at) ?? ""
      return [...begin, end({ arguments: all, status: "completed" })]
    }
    if (item["type"] !== "message" || spoken.has(at)) return [...begin, end()]
    // Some servers send no deltas.
    const content = Array.isArray(item["content"]) ? item["content"] : []
    const said = content.flatMap((each) => {
      const { refusal, text } = fields(each) ?? {}
      return [
        ...textIn(text) === undefined ? [] : [delta("response.output_text.delta", at, text)],
        ...textIn(refusal) === undefined ? [] : [delta("response.refusal.delta", at, refusal)]
      ]
    })
    return [...begin, ...said, end()]
  }

  /** A piece of the summary of a reasoning that has begun. */
  const summary = (type: string, chunk: Fields, more: Fields = {}): ReadonlyArray<Fields> =>
    reasonings.has(chunk["item_id"])
      ? [{ type, item_id: chunk["item_id"], summary_index: chunk["summary_index"] ?? 0, ...more }]
      : []

  const ended = (type: string, response: Fields): Fields => {
    const { reason } = fields(response["incomplete_details"]) ?? {}
    const isWhole = type === "response.completed" && textIn(reason) === undefined
    return {
      type,
      response: {
        ...isWhole ? {} : { incomplete_details: { reason: textIn(reason) ?? "no reason given" } },
        ...usageOf(response)
      }
    }
  }

  return (chunk: Fields, name: string): ReadonlyArray<Fields> => {
    // The type may be only in the event name.
    const type = textIn(chunk["type"]) ?? name
    const at = chunk["output_index"] ?? 0
    switch (type) {
      case "response.output_item.added": {
        const item = added(at, fields(chunk["item"]) ?? {})
        return item === undefined ? [] : [{ type, output_index: at, item }]
      }
      case "response.output_item.done":
        return done(at, fields(chunk["item"]) ?? {})
      case "response.output_text.delta":
      case "response.refusal.delta":
        return [delta(type, at, chunk["delta"])]
      case "response.function_call_arguments.delta":
        sofar.set(at, (sofar.get(at) ?? "") + (textIn(chunk["delta"]) ?? ""))
        return [{ type, item_id: idOf(at, undefined), output_index: at, delta: chunk["delta"] }]
      case "response.reasoning_summary_part.added":
      case "response.reasoning_summary_part.done":
        return summary(type, chunk)
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        return summary("response.reasoning_summary_text.delta", chunk, { delta: chunk["delta"] })
      case "response.completed":
      case "response.incomplete":
        return [ended(type, fields(chunk["response"]) ?? {})]
      case "response.failed": {
        const error = fields(fields(chunk["response"])?.["error"]) ?? {}
        const { code, message } = error
        const read = { code: textIn(code), message: textIn(message) ?? "it gave no reason" }
        return [{ type, sequence_number: 0, response: { error: read } }]
      }
      default:
        return isError(chunk) ? [chunk] : []
    }
  }
}

/** OpenAI's Responses API. */
export const responsesEvents: Protocol = { isKnown, makeReader }
