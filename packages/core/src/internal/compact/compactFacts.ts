/**
 * Adds to a summary what must not depend on how well a model summarises: the request, open todos, and tasks with their
 * ids.
 */
import type { SessionID } from "@skein/domain/Id"
import type { TaskRun } from "@skein/domain/Outcome"
import * as Effect from "effect/Effect"
import { orUnreadable, SessionStorage } from "../../SessionStorage.ts"
import { cut } from "../cutText.ts"
import type { LiveMessage } from "../live/History.ts"

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

/** The first item and as many of the last ones as fit, each whole or truncated to half of the room. */
const fitting = (items: ReadonlyArray<string>, room: number): ReadonlyArray<string> => {
  const [first, ...others] = items.map((item) => `- ${cut(item, Math.floor(room / 2)).replaceAll("\n", "\n  ")}`)
  if (first === undefined) return []
  let left = room - first.length
  const kept: Array<string> = []
  for (const item of others.toReversed()) {
    left -= item.length + 1
    if (left < 0) break
    kept.unshift(item)
  }
  const missing = others.length - kept.length
  return [first, ...(missing === 0 ? [] : [`- (${missing} more)`]), ...kept]
}

const section = (name: string, items: ReadonlyArray<string>, room: number): ReadonlyArray<string> =>
  items.length === 0 ? [] : [[`${name}:`, ...fitting(items, room)].join("\n")]

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
    ...section("What was asked, word for word", summarised.flatMap(askedIn), room * shares.asked),
    ...section(
      "Open todos",
      todos.map(({ content, status }) => cut(`${content} (${status})`, longestLine)),
      room * shares.todos
    ),
    ...section("Tasks of subagents", latest(rows).map(taskLine), room * shares.tasks)
  ]
})
