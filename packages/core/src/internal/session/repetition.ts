/** Notices an agent that goes round in circles. */
import type { TaskRun } from "@skein/domain/Outcome"
import type { Part, ToolPart } from "@skein/domain/Part"
import * as Hash from "effect/Hash"
import type { Live } from "./live.ts"

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

/** What of a call tells it from another: a task is the same whatever label it has. */
const essence = (tool: string, input: unknown): string => {
  if (tool !== "task" || typeof input !== "object" || input === null) return signature(tool, input)
  const { command: _, description: __, ...rest } = input as Readonly<Record<string, unknown>>
  return signature(tool, rest)
}

/** What was said in a session. */
type Messages = ReadonlyArray<{ readonly parts: ReadonlyArray<Part> }>

/** The newest calls before a message and in it up to one of its parts, newest last. */
const callsUpTo = (
  messages: Messages,
  part: ToolPart,
  input: unknown
): ReadonlyArray<string> => {
  const found = [essence(part.tool, input)]
  let seen = false
  for (let i = messages.length - 1; i >= 0 && found.length < limit * 2; i--) {
    const parts = messages[i]?.parts ?? []
    for (let p = parts.length - 1; p >= 0 && found.length < limit * 2; p--) {
      const each = parts[p]
      if (each?.id === part.id) seen = true
      else if (seen && each?.type === "tool" && !exempt.has(each.tool)) {
        // A call that was never read has only the text that the model wrote.
        found.unshift(essence(each.tool, each.state.input))
      }
    }
  }
  return found
}

/** Whether a call is the third of its kind in a row, or closes the third round of a pair of calls. */
const repeats = (messages: Messages, part: ToolPart, input: unknown): boolean => {
  const calls = callsUpTo(messages, part, input)
  const last = calls.slice(-limit)
  if (last.length === limit && last.every((each) => each === last[0])) return true
  return calls.length === limit * 2 && calls.every((each, i) => each === calls[i % 2])
}

/** The tasks that a session and those above it are at work on, nearest first. */
const tasksAbove = (live: Live): ReadonlyArray<Pick<TaskRun, "agent" | "prompt">> => {
  if (live.parent === undefined) return []
  const mine = [...live.parent.tasks].find((task) => task.live === live && task.working !== undefined)
  return [...(mine === undefined ? [] : [mine.row]), ...tasksAbove(live.parent)]
}

/** Whether a task is handed down from agent to agent: more below one another are at work on it than may repeat it. */
const handsDown = (live: Live, part: ToolPart, input: unknown): boolean => {
  if (part.tool !== "task" || typeof input !== "object" || input === null) return false
  const { prompt, subagent_type: agent } = input as Readonly<Record<string, unknown>>
  return tasksAbove(live).filter((above) => above.agent === agent && above.prompt === prompt).length > limit
}

/** Whether a call closes a circle, in its session or among the agents that lead to it. */
export const circles = (live: Live, messages: Messages, part: ToolPart, input: unknown): boolean =>
  !exempt.has(part.tool) && (repeats(messages, part, input) || handsDown(live, part, input))
