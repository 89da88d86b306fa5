/** What Skein reads in the events of Google's Generative Language API, which have no types. */
import { type Fields, fields } from "../json.ts"
import { isError, type Protocol } from "../knownEvents.ts"
import { noCount } from "./counts.ts"

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
export const generateEvents: Protocol = {
  isKnown: (type) => type === "message" || type === "error",
  makeReader: () => read
}
