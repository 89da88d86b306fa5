/** Detects agents that repeat themselves: the same call, or the same few calls in the same order. */
import type { TaskRun } from "@skein/domain/Outcome"
import type { Part, ToolPart } from "@skein/domain/Part"
import * as Hash from "effect/Hash"
import { flattened } from "../../Nesting.ts"
import { askedOf } from "../conversation/askedOf.ts"
import type { LiveMessage } from "../live/History.ts"
import type { Live } from "../live/Live.ts"

/** Tools that poll: agents are meant to call them until something changes. */
const exempt = new Set(["task_status", "task_wait"])

/** A cycle of calls is a loop at its third repetition. */
const limit = 3

/** The longest cycle that is detected, in calls. */
const longestCycle = 4

/** Serialises a value independently of the order of its keys. Recursive: limit the depth of the value first. */
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
  const text = canonical(flattened(input))
  return `${tool}:${text.length}:${Hash.string(text).toString(36)}`
}

/** The arguments stay the same objects, and each call is compared with those before it. */
const identities = new WeakMap<object, string>()

/** Identifies a call for loop detection: a task with another label is still the same task. */
const identity = (tool: string, input: unknown): string => {
  if (typeof input !== "object" || input === null) return signature(tool, input)
  const known = identities.get(input)
  if (known !== undefined) return known
  const { command: _, description: __, ...rest } = input as Readonly<Record<string, unknown>>
  const made = signature(tool, tool === "task" ? rest : input)
  identities.set(input, made)
  return made
}

/** A message with its parts. */
interface LoopMessage {
  readonly info?: LiveMessage["info"]
  readonly parts: ReadonlyArray<Part>
}

/**
 * Whether a person wrote a message, which restarts the count: asking for the same thing twice is no loop. Prompts from
 * agents, notifications, summaries and other texts of the runtime do not restart it.
 */
const isByUser = ({ info, parts }: LoopMessage): boolean =>
  info?.role === "user" && info.from !== "agent" && parts.some((part) =>
    part.type === "text"
      ? part.synthetic !== true
      : part.type === "file" || part.type === "agent" || part.type === "subtask"
  )

/**
 * The latest calls since the user's last message up to a given one, latest last. Equal calls of one step count once: the
 * agent has read no result between them.
 */
const callsUpTo = (messages: ReadonlyArray<LoopMessage>, part: ToolPart, input: unknown): ReadonlyArray<string> => {
  const found = [identity(part.tool, input)]
  let ofStep: Set<string> | undefined
  for (const message of messages.toReversed()) {
    if (ofStep !== undefined && isByUser(message)) return found
    if (ofStep !== undefined) ofStep = new Set()
    for (const each of message.parts.toReversed()) {
      if (each.id === part.id) ofStep = new Set(found)
      else if (ofStep !== undefined && each.type === "tool" && !exempt.has(each.tool)) {
        const call = identity(each.tool, each.state.status === "pending" ? askedOf(each) : each.state.input)
        if (ofStep.has(call)) continue
        ofStep.add(call)
        found.unshift(call)
        if (found.length === limit * longestCycle) return found
      }
    }
  }
  return found
}

/** Whether the latest calls are one cycle of this many calls, repeated up to the limit. */
const endsInCycle = (calls: ReadonlyArray<string>, length: number): boolean => {
  const last = calls.slice(-limit * length)
  return last.length === limit * length && last.every((each, i) => each === last[i % length])
}

/** Whether a call completes the third repetition of a cycle. */
const repeats = (messages: ReadonlyArray<LoopMessage>, part: ToolPart, input: unknown): boolean => {
  const calls = callsUpTo(messages, part, input)
  return Array.from({ length: longestCycle }, (_, i) => i + 1).some((length) => endsInCycle(calls, length))
}

/** The tasks that are running in a session and above it, nearest first. */
const tasksAbove = (live: Live): ReadonlyArray<Pick<TaskRun, "agent" | "prompt">> => {
  if (live.parent === undefined) return []
  const mine = live.parent.tasks.running.find((task) => task.live === live && task.working !== undefined)
  return [...(mine === undefined ? [] : [mine.row]), ...tasksAbove(live.parent)]
}

/**
 * Whether agents delegate the same task down again and again: more of them work on it, each below the last, than the
 * limit.
 */
const passesDown = (live: Live, part: ToolPart, input: unknown): boolean => {
  if (part.tool !== "task" || typeof input !== "object" || input === null) return false
  const { prompt, subagent_type: agent } = input as Readonly<Record<string, unknown>>
  return tasksAbove(live).filter((above) => above.agent === agent && above.prompt === prompt).length > limit
}

/** Whether a call completes a loop, in its session or among the agents above it. */
export const isDoomLoop = (
  live: Live,
  messages: ReadonlyArray<LoopMessage>,
  part: ToolPart,
  input: unknown
): boolean => !exempt.has(part.tool) && (repeats(messages, part, input) || passesDown(live, part, input))
