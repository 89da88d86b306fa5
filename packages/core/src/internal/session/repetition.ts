/** Notices an agent that goes round in circles. */
import type { Part, ToolPart } from "@skein/domain/Part"
import * as Hash from "effect/Hash"

/** Tools whose repetition is no sign of a circle: one asks again until something has changed. */
const exempt = new Set(["task_status", "task_wait"])

/** How often the same call, or the same pair of calls, may follow itself. */
const limit = 3

/** A value as text that does not depend on the order of its keys. */
const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
    return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(",")}}`
  }
  return JSON.stringify(value) ?? "null"
}

/** A short name for a call: the same for the same tool and arguments. */
export const signature = (tool: string, input: unknown): string => {
  const text = canonical(input)
  return `${tool}:${text.length}:${Hash.string(text).toString(36)}`
}

/** What a call was given; a call that was never read has only the text that the model wrote. */
const inputOf = ({ state }: ToolPart): unknown => state.input

/** The newest calls before a message and in it up to one of its parts, newest last. */
const callsUpTo = (
  messages: ReadonlyArray<{ readonly parts: ReadonlyArray<Part> }>,
  part: ToolPart,
  input: unknown
): ReadonlyArray<string> => {
  const found = [signature(part.tool, input)]
  let seen = false
  for (let i = messages.length - 1; i >= 0 && found.length < limit * 2; i--) {
    const parts = messages[i]?.parts ?? []
    for (let p = parts.length - 1; p >= 0 && found.length < limit * 2; p--) {
      const each = parts[p]
      if (each?.id === part.id) seen = true
      else if (seen && each?.type === "tool" && !exempt.has(each.tool)) {
        found.unshift(signature(each.tool, inputOf(each)))
      }
    }
  }
  return found
}

/** Whether a call is the third of its kind in a row, or closes the third round of a pair of calls. */
export const repeats = (
  messages: ReadonlyArray<{ readonly parts: ReadonlyArray<Part> }>,
  part: ToolPart,
  input: unknown
): boolean => {
  if (exempt.has(part.tool)) return false
  const calls = callsUpTo(messages, part, input)
  const last = calls.slice(-limit)
  if (last.length === limit && last.every((each) => each === last[0])) return true
  return calls.length === limit * 2 && calls.every((each, i) => each === calls[i % 2])
}
