/** Writes a conversation for the summarising agent: everything that was said, each text within its limit. */
import type { Part } from "@skein/domain/Part"
import { compactionIn } from "../conversation/sentMessages.ts"
import { cut } from "../cutText.ts"
import type { LiveMessage } from "../live/History.ts"

/** The maximum characters of each kind of text. */
const longest = { user: 4_000, agent: 3_000, input: 400, output: 1_500, summary: 16_000 }

/** The share of a shortened text that is taken from its beginning. */
const head = 0.15

const inputOf = (input: unknown): string => typeof input === "string" ? input : JSON.stringify(input) ?? ""

const partText = (part: Part): ReadonlyArray<string> => {
  switch (part.type) {
    case "text":
      return part.text.trim() === "" ? [] : [cut(part.text.trim(), longest.agent)]
    case "file":
      return [`[file ${part.filename ?? part.mime}]`]
    case "subtask":
      return [`[asked the subagent ${part.agent}: ${cut(part.prompt, longest.input)}]`]
    case "tool": {
      const { state, tool } = part
      const call = `${tool} ${cut(inputOf(state.input), longest.input)}`
      if (state.status === "completed") return [`[${call}]\n${cut(state.output.trim(), longest.output)}`]
      return [
        `[${call}] ${state.status === "error" ? `failed: ${cut(state.error.message, longest.output)}` : "not ended"}`
      ]
    }
    default:
      return []
  }
}

const entryOf = (message: LiveMessage): ReadonlyArray<string> => {
  const { info, parts } = message
  if (compactionIn(message) !== undefined) {
    return [`Summary of what came before:\n${cut(parts.flatMap(partTextWhole).join("\n"), longest.summary)}`]
  }
  const said = parts.flatMap(partText).join("\n")
  if (said === "") return []
  if (info.role === "assistant") return [`Agent: ${said}`]
  const isPerson = parts.some((part) => part.type !== "text" || part.synthetic !== true)
  return [`${isPerson ? "User" : "Note"}: ${cut(said, longest.user)}`]
}

const partTextWhole = (part: Part): ReadonlyArray<string> => part.type === "text" ? [part.text] : []

/** The conversation in order: an entry for each message, none longer than that many characters. */
export const entriesOf = (messages: ReadonlyArray<LiveMessage>, most: number): ReadonlyArray<string> =>
  messages.flatMap(entryOf).map((entry) => cut(entry, most).toWellFormed())

const length = (entries: ReadonlyArray<string>): number => entries.reduce((sum, entry) => sum + entry.length + 2, 0)

/** The first entries that fit into that many characters. */
const beginning = (entries: ReadonlyArray<string>, room: number): ReadonlyArray<string> => {
  let left = room
  const end = entries.findIndex((entry) => (left -= entry.length + 2) < 0)
  return end < 0 ? entries : entries.slice(0, end)
}

/** The entries, or if they are too long their beginning and end, with the number of missing ones. */
const bounded = (entries: ReadonlyArray<string>, room: number): ReadonlyArray<string> => {
  if (length(entries) <= room) return entries
  // The first entry states the task: it is the user's request, or the summary of earlier messages.
  const first = entries.slice(0, Math.max(1, beginning(entries, room * head).length))
  const left = room - length(first) - 40
  const last = beginning(entries.slice(first.length).toReversed(), left).toReversed()
  const missing = entries.length - first.length - last.length
  return [...first, `(${missing} messages are left out here)`, ...last]
}

/**
 * The entries as texts of at most that many characters, and at most `count` of them. If one is not enough, `reserved`
 * of the room is left for the summary so far.
 */
export const portionsOf = (
  entries: ReadonlyArray<string>,
  room: number,
  reserved: number,
  count: number
): ReadonlyArray<string> => {
  if (length(entries) <= room) return [entries.join("\n\n")]
  const each = room - reserved
  const portions: Array<string> = []
  // No entry is longer than half of a portion, so this much fits into that many portions.
  let rest = bounded(entries, each * count * 0.5)
  while (rest.length > 0) {
    const fitting = beginning(rest, each)
    const taken = fitting.length === 0 ? rest.slice(0, 1) : fitting
    portions.push(taken.join("\n\n"))
    rest = rest.slice(taken.length)
  }
  return portions
}
