/** Words a conversation for the agent that summarises it: everything that was said, each thing within its bounds. */
import type { Part } from "@skein/domain/Part"
import { compactionIn } from "../conversation/sentMessages.ts"
import { cut } from "../cutText.ts"
import type { LiveMessage } from "../live/History.ts"

/** How many characters of each thing are read at most. */
const longest = { user: 4_000, agent: 3_000, input: 400, output: 1_500, summary: 16_000 }

/** How much of what does not fit is taken from the beginning. */
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

/** What was said, in order: an entry for each message, none longer than so many characters. */
export const entriesOf = (messages: ReadonlyArray<LiveMessage>, most: number): ReadonlyArray<string> =>
  messages.flatMap(entryOf).map((entry) => cut(entry, most).toWellFormed())

const length = (entries: ReadonlyArray<string>): number => entries.reduce((sum, entry) => sum + entry.length + 2, 0)

/** The first entries of these that fit into so many characters. */
const beginning = (entries: ReadonlyArray<string>, room: number): ReadonlyArray<string> => {
  let left = room
  const end = entries.findIndex((entry) => (left -= entry.length + 2) < 0)
  return end < 0 ? entries : entries.slice(0, end)
}

/** The entries, or where they are too long their beginning and their end, with how many are missing. */
const bounded = (entries: ReadonlyArray<string>, room: number): ReadonlyArray<string> => {
  if (length(entries) <= room) return entries
  // The first one is what all began with: what a user wants, or the summary of what came before.
  const first = entries.slice(0, Math.max(1, beginning(entries, room * head).length))
  const left = room - length(first) - 40
  const last = beginning(entries.slice(first.length).toReversed(), left).toReversed()
  const missing = entries.length - first.length - last.length
  return [...first, `(${missing} messages are left out here)`, ...last]
}

/**
 * The entries as texts that fit into so many characters, and no more of those than `count`; where one is not enough,
 * `reserved` of the room is left for what is known from those before.
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
  // No entry is longer than half of a portion, so that this much fits into so many of them.
  let rest = bounded(entries, each * count * 0.5)
  while (rest.length > 0) {
    const fitting = beginning(rest, each)
    const taken = fitting.length === 0 ? rest.slice(0, 1) : fitting
    portions.push(taken.join("\n\n"))
    rest = rest.slice(taken.length)
  }
  return portions
}
