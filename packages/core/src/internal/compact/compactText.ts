/**
 * Writes a conversation for the summarising agent, each text within its limit. Decides what is kept, the newest messages
 * and unanswered ones, and what must not depend on a model: the request, open todos, and tasks with their ids.
 */
import type { SessionID } from "@skein/domain/Id"
import type { TaskRun } from "@skein/domain/Outcome"
import type { Part } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import { orUnreadable, SessionStorage } from "../../SessionStorage.ts"
import { promptOf } from "../conversation/makePrompt.ts"
import { sizeOf } from "../conversation/requestSize.ts"
import { compactionIn } from "../conversation/sentMessages.ts"
import type { LiveMessage } from "../live/History.ts"
import { cut, section } from "../text.ts"

/** The shares of the room for each section. */
const shares = { asked: 0.5, todos: 0.2, tasks: 0.3 }

/** The longest line of a todo or a task, in characters. */
const longestLine = 300

/** What a person, or the caller of a task, said in a message. */
const askedIn = ({ info, parts }: LiveMessage): ReadonlyArray<string> => {
  if (info.role !== "user") return []
  const text = parts.flatMap((part) => part.type === "text" && part.synthetic !== true ? [part.text] : []).join("\n")
    .trim()
  return text === "" ? [] : [text]
}

/** A section of items, each whole or truncated to half of the room. */
const sectionOf = (name: string, items: ReadonlyArray<string>, room: number): ReadonlyArray<string> =>
  section(name, items.map((item) => `- ${cut(item, Math.floor(room / 2)).replaceAll("\n", "\n  ")}`), room)

/** The last run of each task. Settled ones come first, because running tasks must be the last to be left out. */
const latest = (runs: ReadonlyArray<TaskRun>): ReadonlyArray<TaskRun> => {
  const byTask = new Map<SessionID, TaskRun>()
  for (const run of runs) {
    byTask.delete(run.taskID)
    byTask.set(run.taskID, run)
  }
  const all = [...byTask.values()]
  return [...all.filter(({ state }) => state === "settled"), ...all.filter(({ state }) => state !== "settled")]
}

const taskLine = ({ agent, background, description, outcome, taskID }: TaskRun): string =>
  cut(
    `task_id ${taskID} (${agent}), ${outcome?.status ?? (background ? "at work in the background" : "at work")}: ${
      description.replaceAll(/\s+/g, " ")
    }`,
    longestLine
  )

/** Sections of at most that many characters together; `summarised` are the messages that the summary replaces. */
export const compactFacts = Effect.fnUntraced(function*(
  id: SessionID,
  summarised: ReadonlyArray<LiveMessage>,
  room: number
) {
  const storage = yield* SessionStorage
  const todos = (yield* orUnreadable(storage.todos(id), [])).filter(({ status }) =>
    status === "pending" || status === "in_progress"
  )
  const { rows } = yield* storage.runs({ parentID: id })
  return [
    ...sectionOf("What was asked, word for word", summarised.flatMap(askedIn), room * shares.asked),
    ...sectionOf(
      "Open todos",
      todos.map(({ content, status }) => cut(`${content} (${status})`, longestLine)),
      room * shares.todos
    ),
    ...sectionOf("Tasks of subagents", latest(rows).map(taskLine), room * shares.tasks)
  ]
})

const isAnswer = (message: LiveMessage): boolean => message.info.role === "assistant" && promptOf(message).length > 0

/** The position of the first kept message; `characters` is the maximum to keep. Everything before it is summarised. */
export const firstKept = (sent: ReadonlyArray<LiveMessage>, characters: number): number => {
  let at = sent.findLastIndex((message) => isAnswer(message) || compactionIn(message) !== undefined) + 1
  let left = characters - sizeOf(sent.slice(at).flatMap(promptOf))
  for (;;) {
    const before = sent[at - 1]
    if (before === undefined || compactionIn(before) !== undefined) return at
    left -= sizeOf(promptOf(before))
    if (left < 0) return at
    at--
  }
}

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
    const fits = beginning(rest, each)
    const taken = fits.length === 0 ? rest.slice(0, 1) : fits
    portions.push(taken.join("\n\n"))
    rest = rest.slice(taken.length)
  }
  return portions
}
