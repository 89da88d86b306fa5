/** Gathers from events what each agent of a tree is doing. */
import type { Event, EventProperties } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import { type Outcome, reason } from "@skein/domain/Outcome"
import type { Part, ToolPart } from "@skein/domain/Part"
import type { SessionInfo, SessionStatus } from "@skein/domain/SessionInfo"
import { add, none, type Usage } from "@skein/domain/Usage"
import { QueuePlaces } from "./queuePlaces.ts"

/** What an agent is doing. Times are milliseconds since 1970. */
export interface AgentNode {
  readonly id: SessionID
  readonly parentID: SessionID | undefined
  agent: string
  title: string
  state:
    | {
      readonly type: "working"
      readonly what: "thinks" | "writes" | "waits for its tasks" | "waits for budget" | "summarises"
    }
    | { readonly type: "queued" }
    | { readonly type: "retry"; readonly attempt: number; readonly message: string; readonly next: number }
    | {
      readonly type: "settled"
      readonly outcome: Outcome["status"]
      /** Why it did not complete; empty where it did. */
      readonly reason: string
    }
  /** Whether it is detached: no call waits for it. */
  background: boolean
  /** The calls that run now, in the order in which they began. */
  readonly calls: Map<string, { readonly tool: string; readonly title: string }>
  /** The permissions that it waits for. */
  readonly asks: Map<string, string>
  steps: number
  /** Of its requests and those of all below it, since the run began. */
  usage: Usage
  began: number
  ended: number | undefined
  /** For how long it has waited in queues, and since when it does. */
  queued: number
  queuedSince: number | undefined
  /** Whether it has had a slot: from then on it waits for requests alone. */
  hasWorked: boolean
  readonly children: Array<AgentNode>
}

/** What the agents of one tree are doing. */
export class AgentTree {
  readonly #nodes = new Map<SessionID, AgentNode>()
  readonly root: AgentNode
  readonly #places = new QueuePlaces()

  constructor(session: SessionInfo, now: number) {
    this.root = this.#add(session, now, session.title)
  }

  /** All agents, each before those below it. */
  get all(): ReadonlyArray<AgentNode> {
    return [...this.#nodes.values()]
  }

  /** The places of those that wait in a queue, as they are now. */
  get places(): ReadonlyMap<SessionID, number> {
    return this.#places.now
  }

  /** The name of the task that a session works on; undefined where it is the root, or not known. */
  taskOf(id: SessionID): string | undefined {
    return id === this.root.id ? undefined : this.#nodes.get(id)?.title
  }

  /** Takes an event in; says whether anything that is shown has changed. */
  see(event: Event): boolean {
    if (event.type === "session.created" && !this.#nodes.has(event.properties.info.id)) {
      this.#add(event.properties.info, event.timestamp, event.properties.info.title)
      return true
    }
    if (event.type === "subagent.created") return this.#begin(event.properties, event.timestamp)
    const node = this.#nodes.get(event.sessionID)
    if (node === undefined) return false
    switch (event.type) {
      case "session.updated":
        node.agent = event.properties.info.agent
        if (node === this.root) node.title = event.properties.info.title
        return true
      case "session.status":
        return this.#status(node, event.properties.status, event.timestamp)
      case "message.part.delta":
        return write(node, event.properties.field === "text" ? "writes" : "thinks")
      case "message.part.updated":
        return this.#part(node, event.properties.part)
      case "permission.asked":
        node.asks.set(event.properties.id, event.properties.permission)
        return true
      case "question.asked":
        node.asks.set(event.properties.id, "question")
        return true
      case "question.replied":
      case "permission.replied":
        return node.asks.delete(event.properties.id)
      case "background_task.started":
        node.background = true
        return true
      case "subagent.completed":
      case "subagent.failed":
        return this.#settle(node, event.properties, event.timestamp)
      default:
        return false
    }
  }

  #add(info: SessionInfo, now: number, title: string): AgentNode {
    const node: AgentNode = {
      id: info.id,
      parentID: info.parentID,
      agent: info.agent,
      title,
      state: { type: "working", what: "thinks" },
      background: false,
      calls: new Map(),
      asks: new Map(),
      steps: 0,
      usage: none,
      began: now,
      ended: undefined,
      queued: 0,
      queuedSince: undefined,
      hasWorked: false,
      children: []
    }
    this.#nodes.set(info.id, node)
    if (info.parentID !== undefined) this.#nodes.get(info.parentID)?.children.push(node)
    return node
  }

  /** A run begins: in a session that was just made, or in one that goes on. */
  #begin(task: EventProperties<"subagent.created">, now: number): boolean {
    const known = this.#nodes.get(task.task_id)
    if (known === undefined) {
      const info = { id: task.task_id, parentID: task.trigger_session_id, agent: task.agent } as SessionInfo
      this.#add(info, now, task.description)
      return true
    }
    known.title = task.description
    known.state = { type: "working", what: "thinks" }
    known.background = false
    known.began = now
    known.ended = undefined
    known.queued = 0
    known.queuedSince = undefined
    known.hasWorked = false
    this.#places.leave(known.id)
    return true
  }

  #status(node: AgentNode, status: SessionStatus, now: number): boolean {
    if (node.state.type === "settled") return false
    if (status.type === "queued") {
      node.state = { type: "queued" }
      node.queuedSince ??= now
      this.#places.enter(node.id, status.position, node.hasWorked)
      return true
    }
    this.#leaveQueue(node, now)
    if (status.type === "retry") node.state = status
    else if (status.type === "busy") {
      node.hasWorked = true
      node.state = { type: "working", what: "thinks" }
    } else if (status.type === "waiting") node.state = { type: "working", what: "waits for budget" }
    else if (status.type === "compacting") node.state = { type: "working", what: "summarises" }
    // Its turn is over; it is still there as long as something below it goes on.
    else if (node.children.some(({ state }) => state.type !== "settled")) {
      node.state = { type: "working", what: "waits for its tasks" }
    }
    return true
  }

  #leaveQueue(node: AgentNode, now: number): void {
    this.#places.leave(node.id)
    if (node.queuedSince === undefined) return
    node.queued += Math.max(0, now - node.queuedSince)
    node.queuedSince = undefined
  }

  #part(node: AgentNode, updated: Part): boolean {
    if (updated.type === "tool") return call(node, updated)
    if (updated.type !== "step-finish") return false
    node.steps++
    // What is spent below is spent for all above.
    for (
      let each: AgentNode | undefined = node;
      each !== undefined;
      each = each.parentID === undefined ? undefined : this.#nodes.get(each.parentID)
    ) each.usage = add(each.usage, updated.usage)
    return true
  }

  #settle(node: AgentNode, { outcome }: EventProperties<"subagent.completed">, now: number): boolean {
    this.#leaveQueue(node, now)
    node.state = { type: "settled", outcome: outcome.status, reason: reason(outcome) }
    node.calls.clear()
    node.asks.clear()
    node.ended = now
    return true
  }
}

const write = (node: AgentNode, what: "thinks" | "writes"): boolean => {
  if (node.state.type === "settled" || (node.state.type === "working" && node.state.what === what)) return false
  node.state = { type: "working", what }
  return true
}

const call = (node: AgentNode, { id, state, tool }: ToolPart): boolean => {
  if (state.status !== "running") return node.calls.delete(id)
  node.calls.set(id, { tool, title: state.title ?? "" })
  return true
}
