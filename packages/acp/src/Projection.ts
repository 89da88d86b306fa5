/** Turns the events of a tree of sessions into changes for a client: a pure fold, without clock, client or protocol. */
import type { Event, EventProperties, PermissionRequest, QuestionRequest } from "@skein/domain/Event"
import type { MessageID, PartID, PermissionID, RunID, SessionID } from "@skein/domain/Id"
import type { AssistantMessage, ErrorInfo, Message } from "@skein/domain/Message"
import { modeOf } from "@skein/domain/Mode"
import { formatRef } from "@skein/domain/Model"
import type { Outcome, TaskRun } from "@skein/domain/Outcome"
import type { FilePart, Part, ReasoningPart, TextPart, ToolPart } from "@skein/domain/Part"
import type { SessionInfo, Todo } from "@skein/domain/SessionInfo"
import type { Tokens } from "@skein/domain/Usage"
import { type Held, isHeld } from "@skein/view/AgentNode"

/** An agent below the root. */
export interface Subagent {
  readonly id: SessionID
  readonly parentID: SessionID
  readonly agent: string
  /** What it was asked for, in a few words. */
  readonly title: string
  readonly directory: string | undefined
}

/** What an agent below the root does. */
export type SubagentState =
  | { readonly type: "running" }
  /** It waits for a person. */
  | { readonly type: "asking" }
  | { readonly type: "settled"; readonly runID: RunID; readonly outcome: Outcome }

/** One thing that a client can be notified of, with the session that it happened in. */
export type Change =
  /** Text that grows: what is given here follows what was given before for this message. */
  | {
    readonly type: "text"
    readonly session: SessionID
    readonly by: "person" | "caller" | "agent" | "reasoning"
    readonly message: string
    readonly text: string
  }
  /** A file in a person's prompt. */
  | { readonly type: "file"; readonly session: SessionID; readonly message: MessageID; readonly file: FilePart }
  /** The present state of a tool call. `child` is the session that it started. */
  | {
    readonly type: "call"
    readonly session: SessionID
    readonly call: ToolPart
    readonly isNew: boolean
    readonly child: SessionID | undefined
  }
  | { readonly type: "todos"; readonly session: SessionID; readonly todos: ReadonlyArray<Todo> }
  /** An agent below the root began, or its state changed. */
  | {
    readonly type: "subagent"
    readonly session: SessionID
    readonly isNew: boolean
    readonly subagent: Subagent
    readonly state: SubagentState
  }
  | { readonly type: "asked"; readonly session: SessionID; readonly ask: AskedOf; readonly call: ToolPart | undefined }
  | { readonly type: "replied"; readonly session: SessionID; readonly id: PermissionID | PartID }
  | { readonly type: "title"; readonly session: SessionID; readonly title: string; readonly updated: number }
  /** The mode, the agent or the model of the root changed. */
  | { readonly type: "settings"; readonly session: SessionID }
  | {
    readonly type: "usage"
    readonly session: SessionID
    readonly model: string
    readonly tokens: Tokens
    readonly cost: string
  }
  /** Nobody continues the tree. */
  | { readonly type: "held"; readonly session: SessionID; readonly status: Held }
  | { readonly type: "compacted"; readonly session: SessionID; readonly message: MessageID }
  | { readonly type: "error"; readonly session: SessionID; readonly error: ErrorInfo }

/** A question to a person. */
export type AskedOf =
  | { readonly kind: "permission"; readonly request: PermissionRequest }
  | { readonly kind: "question"; readonly request: QuestionRequest }

/** A tree that exists already. */
interface Known {
  readonly sessions: ReadonlyArray<SessionInfo>
  readonly tasks: ReadonlyArray<TaskRun>
}

/** How much of a growing text was sent, and how often it began anew after a failed try. */
interface Told {
  length: number
  tries: number
}

/** What is known of a session below the root. */
interface Below {
  subagent: Subagent
  state: SubagentState
  readonly asks: Set<string>
}

const nothing: ReadonlyArray<Change> = []

const childIn = ({ state, tool }: ToolPart): SessionID | undefined => {
  if (tool !== "task" || state.status === "pending") return undefined
  const id = state.metadata?.["sessionId"]
  return typeof id === "string" ? id as SessionID : undefined
}

/** The fold. It knows the agents of the tree, and how much of each text was sent. */
export class Projection {
  readonly #below = new Map<SessionID, Below>()
  readonly #authors = new Map<MessageID, "person" | "caller" | "agent">()
  readonly #told = new Map<PartID, Told>()
  /** The calls that were seen; those that have ended without what they were. */
  readonly #calls = new Map<PartID, ToolPart | undefined>()
  readonly #children = new Map<PartID, SessionID>()
  #root: SessionInfo | undefined

  /** The subagents that were seen, those above before those below them. */
  get subagents(): ReadonlyArray<{ readonly subagent: Subagent; readonly state: SubagentState }> {
    return [...this.#below.values()]
  }

  /** Whether this is a session below the root. */
  has(id: string): boolean {
    return this.#below.has(id as SessionID)
  }

  /** The session that a call of `task` has started. */
  childOf(call: ToolPart): SessionID | undefined {
    return childIn(call) ?? this.#children.get(call.id)
  }

  /** Takes over a tree that exists, as its snapshot tells it: nothing of that is a change. */
  restore({ sessions, tasks }: Known): void {
    for (const info of sessions) this.#learn(info)
    for (const run of tasks) {
      if (run.partID !== undefined) this.#children.set(run.partID, run.taskID)
      const below = this.#below.get(run.taskID)
      if (below === undefined) continue
      below.subagent = { ...below.subagent, agent: run.agent, title: run.description }
      below.state = run.outcome === undefined
        ? { type: "running" }
        : { type: "settled", runID: run.id, outcome: run.outcome }
    }
  }

  /** The changes for an event. */
  see(event: Event): ReadonlyArray<Change> {
    const session = event.sessionID
    switch (event.type) {
      case "session.created":
        return event.depth === 0 ? this.#rootIs(event.properties.info) : this.#began(event.properties.info)
      case "session.updated":
        return event.depth === 0 ? this.#rootIs(event.properties.info) : nothing
      case "subagent.created":
        return this.#asksFor(event.properties)
      case "subagent.completed":
      case "subagent.failed":
        return this.#settled(event.properties)
      case "message.updated":
        return this.#message(session, event.properties.info)
      case "message.part.updated":
        return this.#part(session, event.properties.part)
      case "message.part.delta": {
        const { delta, field, messageID, partID } = event.properties
        return this.#grow(session, messageID, partID, field === "text" ? "agent" : "reasoning", delta)
      }
      case "permission.asked":
        return this.asked({ kind: "permission", request: event.properties })
      case "question.asked":
        return this.asked({ kind: "question", request: event.properties })
      case "permission.replied":
      case "question.replied": {
        const { id } = event.properties
        return [{ type: "replied", session, id }, ...this.#asking(session, id, false)]
      }
      case "todo.updated":
        return [{ type: "todos", session, todos: event.properties.todos }]
      case "session.status": {
        const { status } = event.properties
        return isHeld(status) ? [{ type: "held", session, status }] : nothing
      }
      case "session.compacted":
        return [{ type: "compacted", session, message: event.properties.messageID }]
      case "session.error":
        return [{ type: "error", session, error: event.properties.error }]
      default:
        return nothing
    }
  }

  /** The changes for a question that opens, or is open already. */
  asked(ask: AskedOf): ReadonlyArray<Change> {
    const { sessionID: session } = ask.request
    const partID = ask.kind === "permission" ? ask.request.partID : ask.request.id
    const call = partID === undefined ? undefined : this.#calls.get(partID)
    return [...this.#asking(session, ask.request.id, true), { type: "asked", session, ask, call }]
  }

  #learn(info: SessionInfo): void {
    if (info.parentID === undefined) {
      this.#root = info
      return
    }
    const { agent, directory, id, parentID, title } = info
    this.#below.set(id, {
      subagent: { id, parentID, agent, title, directory },
      state: { type: "running" },
      asks: new Set()
    })
  }

  #rootIs(info: SessionInfo): ReadonlyArray<Change> {
    const before = this.#root
    this.#root = info
    if (before === undefined) return nothing
    const isSame = modeOf(before) === modeOf(info) && before.agent === info.agent
      && before.model?.modelID === info.model?.modelID && before.model?.providerID === info.model?.providerID
    return [
      ...(before.title === info.title
        ? []
        : [{ type: "title", session: info.id, title: info.title, updated: info.time.updated } as const]),
      ...(isSame ? [] : [{ type: "settings", session: info.id } as const])
    ]
  }

  #began(info: SessionInfo): ReadonlyArray<Change> {
    const known = this.#below.get(info.id)
    if (known !== undefined) {
      known.subagent = { ...known.subagent, directory: info.directory }
      return nothing
    }
    this.#learn(info)
    return this.#tell(info.id, true)
  }

  #asksFor({ agent, description: title, task_id: id, trigger_session_id: parentID }: Task): ReadonlyArray<Change> {
    const known = this.#below.get(id)
    const state = { type: "running" } as const
    const subagent = { id, parentID, agent, title, directory: known?.subagent.directory }
    this.#below.set(id, { subagent, state, asks: known?.asks ?? new Set() })
    return this.#tell(id, known === undefined)
  }

  #settled({ outcome, run_id: runID, task_id }: Settled): ReadonlyArray<Change> {
    const below = this.#below.get(task_id)
    if (below === undefined) return nothing
    below.state = { type: "settled", runID, outcome }
    below.asks.clear()
    return this.#tell(task_id, false)
  }

  /** A question of an agent below the root opens or ends. */
  #asking(session: SessionID, id: string, isOpen: boolean): ReadonlyArray<Change> {
    const below = this.#below.get(session)
    if (below === undefined || below.state.type === "settled") return nothing
    if (isOpen) below.asks.add(id)
    else below.asks.delete(id)
    const type = below.asks.size > 0 ? "asking" : "running"
    if (type === below.state.type) return nothing
    below.state = { type }
    return this.#tell(session, false)
  }

  #tell(id: SessionID, isNew: boolean): ReadonlyArray<Change> {
    const below = this.#below.get(id)
    if (below === undefined) return nothing
    const { state, subagent } = below
    return [{ type: "subagent", session: subagent.parentID, isNew, subagent, state }]
  }

  #message(session: SessionID, info: Message): ReadonlyArray<Change> {
    if (info.role === "user") {
      this.#authors.set(info.id, info.from === "agent" ? "caller" : "person")
      return nothing
    }
    this.#authors.set(info.id, "agent")
    return info.time.completed === undefined || session !== this.#root?.id ? nothing : [this.#usage(session, info)]
  }

  #usage(session: SessionID, info: AssistantMessage): Change {
    return {
      type: "usage",
      session,
      model: formatRef(info),
      tokens: info.usage.tokens,
      cost: this.#root?.usage.subtree.cost ?? "unknown"
    }
  }

  #part(session: SessionID, part: Part): ReadonlyArray<Change> {
    switch (part.type) {
      case "text":
        return part.synthetic === true
          ? nothing
          : this.#text(session, part, this.#authors.get(part.messageID) ?? "agent")
      case "reasoning":
        return this.#text(session, part, "reasoning")
      case "file":
        return this.#authors.get(part.messageID) === "person"
          ? [{ type: "file", session, message: part.messageID, file: part }]
          : nothing
      case "tool":
        return this.#call(session, part)
      default:
        return nothing
    }
  }

  #call(session: SessionID, call: ToolPart): ReadonlyArray<Change> {
    const isNew = !this.#calls.has(call.id)
    const isOver = call.state.status === "completed" || call.state.status === "error"
    this.#calls.set(call.id, isOver ? undefined : call)
    const child = this.childOf(call)
    if (child !== undefined) this.#children.set(call.id, child)
    return [{ type: "call", session, call, isNew, child }]
  }

  /** The whole text as it is now. Text beyond what was sent is new; a shorter text begins anew. */
  #text(session: SessionID, part: ReasoningPart | TextPart, by: By): ReadonlyArray<Change> {
    const told = this.#toldOf(part.id)
    if (part.text.length < told.length) {
      told.length = 0
      told.tries++
    }
    return this.#grow(session, part.messageID, part.id, by, part.text.slice(told.length))
  }

  #grow(session: SessionID, message: MessageID, part: PartID, by: By, text: string): ReadonlyArray<Change> {
    if (text === "") return nothing
    const told = this.#toldOf(part)
    told.length += text.length
    return [{ type: "text", session, by, message: told.tries === 0 ? message : `${message}#${told.tries}`, text }]
  }

  #toldOf(part: PartID): Told {
    const told = this.#told.get(part) ?? { length: 0, tries: 0 }
    this.#told.set(part, told)
    return told
  }
}

type By = "agent" | "caller" | "person" | "reasoning"
type Task = EventProperties<"subagent.created">
type Settled = EventProperties<"subagent.completed">
