/** Collects from events what each agent did at which time: spans of work and of waiting, one lane for each agent. */
import type { Span } from "@skein/api/Output"
import type { Event, Wait } from "@skein/domain/Event"
import type { Message } from "@skein/domain/Message"
import type { Part } from "@skein/domain/Part"
import type { SessionStatus } from "@skein/domain/SessionInfo"
import type { AgentNode } from "./AgentNode.ts"

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

/** When an id was made, in milliseconds since 1970: the first ten digits after its prefix. */
export const timeOfID = (id: string): number => {
  let time = 0
  for (const digit of id.slice(id.indexOf("_") + 1).slice(0, 10)) {
    time = time * 32 + Math.max(0, alphabet.indexOf(digit))
  }
  return time
}

/** The span of a message: the time in which a model answered. */
const spanOfMessage = (info: Message): Span | undefined =>
  info.role === "user" ? undefined : {
    id: info.id,
    kind: "model",
    start: info.time.created,
    ...(info.time.completed === undefined ? {} : { end: info.time.completed }),
    label: info.modelID
  }

/** The span of a part, if it took time itself. */
const spanOfPart = (part: Part): Span | undefined => {
  if (part.type === "retry") {
    const start = Math.min(timeOfID(part.id), part.next)
    return { id: part.id, kind: "retry", start, end: part.next, label: part.error.message.slice(0, 200) }
  }
  if (part.type !== "tool" || !("time" in part.state) || part.state.time === undefined) return undefined
  const { state, tool } = part
  const title = "title" in state ? state.title ?? "" : ""
  return {
    id: part.id,
    kind: tool === "task" ? "tasks" : "tool",
    start: part.state.time.start,
    ..."end" in part.state.time ? { end: part.state.time.end } : {},
    label: `${tool} ${title}`.trim().slice(0, 200)
  }
}

const labels = {
  slot: "waits for a slot",
  retry: "waits for its next try",
  budget: "waits for budget",
  person: "waits for an answer",
  tasks: "waits for its tasks"
} as const

const pauseLabel = (origin = "the provider"): string => `${origin} asked for a pause`

/** The span of a wait that was stored. A question, and a call for tasks, have spans of their own. */
const spanOfWait = ({ end, origin, start, why }: Wait): Span | undefined =>
  why === "person" || why === "tasks"
    ? undefined
    : { id: `${why}-${start}`, kind: why, start, end, label: why === "pause" ? pauseLabel(origin) : labels[why] }

/** What an agent waits for, according to its status. */
const waitOf = (status: SessionStatus): Pick<Span, "kind" | "label"> | undefined => {
  switch (status.type) {
    case "queued":
      return status.pause === undefined
        ? { kind: "slot", label: labels.slot }
        : { kind: "pause", label: pauseLabel(status.pause.origin) }
    case "waiting":
      return { kind: "budget", label: status.message.slice(0, 200) }
    // Until its first delta arrives, no other event shows that a model works.
    case "busy":
    case "compacting":
      return { kind: "model", label: status.type === "busy" ? "request" : "summarises" }
    default:
      return undefined
  }
}

const waiting: ReadonlySet<Span["kind"]> = new Set(["slot", "budget", "retry", "pause"])

/** What is left of a span outside of these waits, which are sorted by their beginning. */
const without = (span: Span, waits: ReadonlyArray<Span>): ReadonlyArray<Span> => {
  const { end = Number.POSITIVE_INFINITY } = span
  const left: Array<Span> = []
  let from = span.start
  const add = (until: number) => {
    if (until <= from) return
    const isLast = until === Number.POSITIVE_INFINITY
    const { end: _, ...rest } = span
    const id = left.length === 0 ? span.id : `${span.id}-${left.length}`
    left.push({ ...rest, id, start: from, ...(isLast ? {} : { end: until }) })
  }
  for (const { end: over = Number.POSITIVE_INFINITY, start } of waits) {
    if (over <= from || start >= end) continue
    add(start)
    from = Math.max(from, over)
  }
  add(end)
  return left
}

/** A question has the id of its call, which has its own span. */
const askID = (id: string): string => `ask-${id}`

/** The spans of one agent. */
class Lane {
  readonly spans = new Map<string, Span>()
  /** The wait in its current status. */
  wait: string | undefined
  #sorted: ReadonlyArray<Span> | undefined

  put(span: Span | undefined): boolean {
    if (span === undefined) return false
    this.spans.set(span.id, span)
    this.#sorted = undefined
    return true
  }

  end(id: string | undefined, at: number): boolean {
    const span = id === undefined ? undefined : this.spans.get(id)
    return span !== undefined && span.end === undefined && this.put({ ...span, end: Math.max(at, span.start) })
  }

  /** The model has begun to answer. From here on, the message has the span. */
  endRequest(at: number): void {
    if (this.wait !== undefined && this.spans.get(this.wait)?.kind === "model") this.end(this.wait, at)
  }

  endAll(at: number): boolean {
    let changed = false
    for (const id of this.spans.keys()) changed = this.end(id, at) || changed
    return changed
  }

  /** The spans by their beginning. While an agent waits, no model works for it. */
  get sorted(): ReadonlyArray<Span> {
    return this.#sorted ??= this.#cut().toSorted((a, b) => a.start - b.start)
  }

  #cut(): ReadonlyArray<Span> {
    const all = [...this.spans.values()]
    const waits = all.filter(({ kind }) => waiting.has(kind)).toSorted((a, b) => a.start - b.start)
    return waits.length === 0 ? all : all.flatMap((span) => span.kind === "model" ? without(span, waits) : [span])
  }
}

/** The spans of all agents in one tree. */
export class Timeline {
  readonly #lanes = new Map<string, Lane>()

  /** The spans of an agent, sorted by their beginning. A span without an end continues. */
  of(sessionID: string): ReadonlyArray<Span> {
    return this.#lanes.get(sessionID)?.sorted ?? []
  }

  /** How many spans there are. */
  get size(): number {
    let size = 0
    for (const { spans } of this.#lanes.values()) size += spans.size
    return size
  }

  /** Adds a span that was read. */
  put(sessionID: string, span: Span): void {
    this.#lane(sessionID).put(span)
  }

  /** Adds a message that was read, with its parts. */
  read(info: Message, parts: ReadonlyArray<Part>): void {
    const lane = this.#lane(info.sessionID)
    lane.put(spanOfMessage(info))
    for (const part of parts) lane.put(spanOfPart(part))
  }

  /** Adds an agent's current state, after everything that was read of it. */
  now(sessionID: string, status: SessionStatus, began: number): void {
    const lane = this.#lane(sessionID)
    const ends = lane.sorted.map(({ end }) => end)
    // A running answer or call is more precise.
    if (!ends.includes(undefined)) this.#wait(lane, status, Math.max(began, ...ends.map((end) => end ?? 0)))
  }

  /** Applies an event; returns whether a span has changed. */
  see(event: Event): boolean {
    const lane = this.#lane(event.sessionID)
    const { timestamp } = event
    switch (event.type) {
      case "message.updated": {
        const span = spanOfMessage(event.properties.info)
        if (span !== undefined) lane.endRequest(timestamp)
        return lane.put(span)
      }
      case "message.part.updated":
        return lane.put(spanOfPart(event.properties.part))
      case "permission.asked":
      case "question.asked": {
        const label = "permission" in event.properties ? event.properties.permission : "question"
        return lane.put({ id: askID(event.properties.id), kind: "person", start: timestamp, label })
      }
      case "permission.replied":
      case "question.replied":
        return lane.end(askID(event.properties.id), timestamp)
      case "session.waited":
        return lane.put(spanOfWait(event.properties))
      case "session.status":
        return this.#wait(lane, event.properties.status, timestamp)
      case "session.idle":
      case "subagent.completed":
      case "subagent.failed":
        return lane.endAll(timestamp)
      default:
        return false
    }
  }

  #wait(lane: Lane, status: SessionStatus, now: number): boolean {
    const wait = waitOf(status)
    const open = lane.wait === undefined ? undefined : lane.spans.get(lane.wait)
    if (wait !== undefined && open?.kind === wait.kind && open.end === undefined) return false
    const ended = lane.end(lane.wait, now)
    lane.wait = wait === undefined ? undefined : `${wait.kind}-${now}`
    return (lane.wait !== undefined && wait !== undefined && lane.put({ ...wait, id: lane.wait, start: now })) || ended
  }

  #lane(sessionID: string): Lane {
    const lane = this.#lanes.get(sessionID) ?? new Lane()
    this.#lanes.set(sessionID, lane)
    return lane
  }
}

/** A span of the path: this agent worked or waited, and everything later waited for that. */
export interface Stretch {
  readonly id: string
  readonly start: number
  readonly end: number
}

/**
 * The path, from the beginning of the root to its end, without a gap. It is found backwards: the task that ended last
 * is what an agent waited for last.
 */
export const criticalPath = (root: AgentNode, now: number): ReadonlyArray<Stretch> => {
  const path: Array<Stretch> = []
  const follow = (node: AgentNode, from: number, until: number): void => {
    let end = until
    const tasks = node.children
      .map((child) => ({ child, ended: Math.min(child.ended ?? now, until) }))
      .toSorted((a, b) => b.ended - a.ended)
    for (const { child, ended } of tasks) {
      const began = Math.max(child.began, from)
      if (ended > end || began >= ended) continue
      if (end > ended) path.push({ id: node.id, start: ended, end })
      follow(child, began, ended)
      end = began
    }
    if (end > from) path.push({ id: node.id, start: from, end })
  }
  follow(root, root.began, Math.max(root.began, root.ended ?? now))
  return path.toReversed()
}
