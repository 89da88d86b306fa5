/** What Skein reads in the events of Anthropic's Messages API. */
import { type Fields, fields } from "../json.ts"
import { isError, type Protocol } from "../knownEvents.ts"
import { countIn, numbersIn } from "./counts.ts"

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
export const messagesEvents: Protocol = {
  isKnown: (type) => type === "message" || (type !== "ping" && events.test(type)),
  makeReader
}
