/** * The format `default` without a terminal: each call is a line on standard error, and the answer goes to standard
 * output. */
import type { Event } from "@skein/domain/Event"
import type { HookPayload } from "@skein/domain/Hook"
import type { SessionID } from "@skein/domain/Id"
import { reason, type TaskRun, worktreeText } from "@skein/domain/Outcome"
import type { ToolPart } from "@skein/domain/Part"
import { callLine, failureOf, subjectOf } from "@skein/tui/CallOutcome"
import { escapeLine } from "@skein/tui/Escape"
import { fit } from "@skein/tui/Width"
import { heldText, isHeld } from "@skein/view/AgentNode"
import { formatCount, formatDuration } from "@skein/view/Numbers"
import type { Streams } from "../../Stdio.ts"
import { type Presenter, writeAnswer } from "./presenter.ts"

/** The maximum length of a description, in characters. */
const longest = 80

/** The descriptions of the tasks of a tree. */
export class TaskLabels {
  readonly #descriptions = new Map<SessionID, string>()
  readonly #begun = new Set<SessionID>()

  /** A task has begun, in this process or before. */
  began(task: SessionID, description: string): void {
    this.#begun.add(task)
    this.#descriptions.set(task, description)
  }

  /** Reads an event. */
  see(event: Event): void {
    if (event.type === "subagent.created") {
      this.began(event.properties.task_id, event.properties.description)
    } else if (event.type === "session.created" || event.type === "session.updated") {
      const { id, parentID, title } = event.properties.info
      // A task that continues after a crash is not created again.
      if (parentID !== undefined && !this.#descriptions.has(id)) this.#descriptions.set(id, title)
    }
    if (event.depth > 0) this.#begun.add(event.sessionID)
  }

  /** The label at the end of this session's lines. */
  of(sessionID: SessionID): string {
    const description = this.#begun.size > 1 ? this.#descriptions.get(sessionID) : undefined
    if (description === undefined) return ""
    const head = escapeLine(description.slice(0, longest))
    return ` (${head}${description.length > longest ? "…" : ""})`
  }
}

/** The maximum width of a failed call's subject, in columns. */
const longestSubject = 60

/** The first line of a message, shortened. */
const firstLine = (text: string): string => escapeLine(text.trimStart().split("\n", 1)[0]?.slice(0, 200) ?? "")

/** The lines for an event. */
const linesOf = (event: Event, calls: Calls): ReadonlyArray<string> => {
  const by = prefix(event.depth)
  switch (event.type) {
    case "session.created":
      if (event.depth === 0) calls.began(event.properties.info.time.created)
      return []
    case "message.part.updated":
      return event.properties.part.type === "tool" ? calls.see(event.properties.part, event.depth) : []
    case "background_task.completed":
    case "background_task.failed": {
      const { description, durationMs, outcome } = event.properties
      const why = firstLine(reason(outcome))
      return [
        `> background task ${outcome.status} description=${escapeLine(description)} after=${
          formatDuration(durationMs)
        }${why === "" ? "" : `: ${why}`}`
      ]
    }
    case "subagent.completed":
    case "subagent.failed": {
      const { worktree } = event.properties.outcome
      return worktree === undefined ? [] : [`> ${by}worktree: ${escapeLine(worktreeText(worktree))}`]
    }
    case "session.status": {
      const { status } = event.properties
      if (status.type === "queued") return [`> ${by}queued position=${status.position}`]
      if (status.type === "waiting") return [`> ${by}${firstLine(status.message)}`]
      if (isHeld(status)) return [`> ${by}${escapeLine(heldText(status))}`]
      if (status.type === "compacting") return [`> ${by}compacting: the conversation is summarised to save room`]
      if (status.type !== "retry") return []
      return [
        `> ${by}retry attempt=${status.attempt} in=${formatDuration(status.next - event.timestamp)}: ${
          firstLine(status.message)
        }`
      ]
    }
    case "command.executed":
      return [`> ${by}command ${escapeLine(event.properties.name)}`]
    case "session.compacted": {
      const { after, before } = event.properties.tokens
      return [`> ${by}compacted tokens=${formatCount(after)} before=${formatCount(before)}`]
    }
    default:
      return []
  }
}

const prefix = (depth: number): string => depth === 0 ? "" : "subagent:"

/**
 * The calls of a tree. Each is printed once: when a hook before it runs, or else when it begins. After a lost connection,
 * earlier events show calls as they are now: one that has ended meanwhile is printed then.
 */
class Calls {
  readonly #shown = new Set<string>()
  readonly #ended = new Set<string>()
  /** When the session was created, if that was during this run: calls that ended before are copies. */
  #created = Number.NEGATIVE_INFINITY
  readonly #pending = new Map<string, ToolPart>()
  /** The running calls by session, and whether each has been the session's only running call all the time. */
  readonly #running = new Map<SessionID, Map<string, { isAlone: boolean }>>()

  /** The session is created now. */
  began(at: number): void {
    this.#created = at
  }

  /** The lines for the current state of a call. */
  see(part: ToolPart, depth: number): ReadonlyArray<string> {
    const { id, sessionID, state, tool } = part
    if (state.status === "pending") {
      this.#pending.set(id, part)
      return []
    }
    this.#pending.delete(id)
    if (state.status === "running") {
      this.#runs(sessionID, id)
      return this.#begins(id, tool, state.input, depth)
    }
    if (this.#ended.has(id)) return []
    this.#ended.add(id)
    const isAlone = this.#ends(sessionID, id)
    if (state.time !== undefined && state.time.end <= this.#created) return []
    const failure = failureOf(part)
    if (failure === undefined) return this.#begins(id, tool, state.input, depth)
    const subject = fit(subjectOf(part), longestSubject)
    const isBare = subject === "" || (isAlone && failure.taskID === undefined)
    const about = isBare ? " failed" : tool === "task" ? ` failed (${subject})` : ` ${subject} failed`
    return [
      ...this.#begins(id, tool, state.input, depth),
      `> ${prefix(depth)}${escapeLine(tool)}${about}: ${failure.reason}`
    ]
  }

  #runs(sessionID: SessionID, id: string): void {
    const running = this.#running.get(sessionID) ?? new Map<string, { isAlone: boolean }>()
    this.#running.set(sessionID, running)
    if (running.has(id)) return
    running.set(id, { isAlone: true })
    if (running.size > 1) { for (const call of running.values()) call.isAlone = false }
  }

  /** Removes a call; returns whether no other call of its session ran at the same time. */
  #ends(sessionID: SessionID, id: string): boolean {
    // This also counts a call that was refused before it ran.
    this.#runs(sessionID, id)
    const running = this.#running.get(sessionID)
    const isAlone = running?.get(id)?.isAlone ?? true
    running?.delete(id)
    if (running?.size === 0) this.#running.delete(sessionID)
    return isAlone
  }

  /** The line of a pending call whose PreToolUse hook runs. */
  heard({ input, path, sessionID, tool }: HookPayload<"PreToolUse">): ReadonlyArray<string> {
    const written = JSON.stringify(input)
    for (const { id, sessionID: of, state, tool: name } of this.#pending.values()) {
      if (of !== sessionID || name !== tool || this.#shown.has(id) || state.status !== "pending") continue
      if (sameCall(state.input, written)) return this.#begins(id, tool, input, path.length - 1)
    }
    return []
  }

  /** The line of a call of `task` that an earlier process began. */
  continues({ agent, description, partID }: TaskRun): ReadonlyArray<string> {
    return partID === undefined ? [] : this.#begins(partID, "task", { description, subagent_type: agent }, 0)
  }

  #begins(id: string, tool: string, input: unknown, depth: number): ReadonlyArray<string> {
    if (this.#shown.has(id)) return []
    this.#shown.add(id)
    return [`> ${prefix(depth)}${callLine(tool, input)}`]
  }
}

/** Whether a hook's input is what the model wrote: its JSON, or its text if it is not JSON. */
const sameCall = (raw: string, shown: string): boolean => {
  try {
    return JSON.stringify(JSON.parse(raw)) === shown
  } catch {
    return JSON.stringify(raw) === shown
  }
}

/** Makes the presenter. */
export const plain = (stdio: Streams): Presenter => {
  const calls = new Calls()
  const labels = new TaskLabels()
  const tell = (lines: ReadonlyArray<string>, depth: number, sessionID: SessionID) => {
    for (const line of lines) stdio.err("  ".repeat(depth) + line + labels.of(sessionID))
  }
  return {
    deltas: false,
    begin: ({ id }, _, continued) => {
      for (const { description, taskID } of continued) labels.began(taskID, description)
      for (const run of continued) if (run.parentID === id) tell(calls.continues(run), 0, id)
    },
    event: (event) => {
      labels.see(event)
      tell(linesOf(event, calls), event.depth, event.sessionID)
    },
    note: (line) => stdio.err(escapeLine(line)),
    hook: (line, payload) => {
      if (payload.event === "PreToolUse") tell(calls.heard(payload), payload.path.length - 1, payload.sessionID)
      stdio.err(escapeLine(line) + labels.of(payload.sessionID))
    },
    end: (result) => writeAnswer(stdio, result)
  }
}
