/** Gathers from events what each agent of a tree is doing. */
import type { Event, EventProperties } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { Outcome } from "@skein/domain/Outcome"
import type { Part, ToolPart } from "@skein/domain/Part"
import type { SessionInfo, SessionStatus } from "@skein/domain/SessionInfo"

/** What an agent is doing. Times are milliseconds since 1970. */
export interface AgentNode {
  readonly id: SessionID
  readonly parentID: SessionID | undefined
  agent: string
  title: string
  state:
    | {
      readonly type: "working"
      readonly what: "thinks" | "writes" | "waits for its tasks" | "summarises"
    }
    | { readonly type: "queued"; readonly position: number }
    | { readonly type: "retry"; readonly attempt: number; readonly message: string; readonly next: number }
    | { readonly type: "settled"; readonly outcome: Outcome["status"] }
  /** Whether nobody waits for it. */
  background: boolean
  /** The calls that run now, in the order in which they began. */
  readonly calls: Map<string, { readonly tool: string; readonly title: string }>
  /** The permissions that it waits for. */
  readonly asks: Map<string, string>
  steps: number
  tokens: number
  began: number
  ended: number | undefined
  readonly children: Array<AgentNode>
}

const tokensOf = (
  { usage: { tokens } }: { readonly usage: { readonly tokens: { readonly input: number; readonly output: number } } }
) => tokens.input + tokens.output

/** What the agents of one tree are doing. */
export class AgentTree {
  readonly #nodes = new Map<SessionID, AgentNode>()
  readonly root: AgentNode

  constructor(session: SessionInfo, now: number) {
    this.root = this.#add(session, now, session.title)
  }

  /** All agents, each before those below it. */
  get all(): ReadonlyArray<AgentNode> {
    return [...this.#nodes.values()]
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
        return see(node, event.properties.status)
      case "message.part.delta":
        return write(node, event.properties.field === "text" ? "writes" : "thinks")
      case "message.part.updated":
        return part(node, event.properties.part)
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
        return settle(node, event.properties, event.timestamp)
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
      tokens: 0,
      began: now,
      ended: undefined,
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
    return true
  }
}

const see = (node: AgentNode, status: SessionStatus): boolean => {
  if (node.state.type === "settled") return false
  if (status.type === "queued") node.state = { type: "queued", position: status.position }
  else if (status.type === "retry") node.state = status
  else if (status.type === "busy") node.state = { type: "working", what: "thinks" }
  else if (status.type === "compacting") node.state = { type: "working", what: "summarises" }
  // Its turn is over; it is still there as long as something below it goes on.
  else if (node.children.some(({ state }) => state.type !== "settled")) {
    node.state = { type: "working", what: "waits for its tasks" }
  }
  return true
}

const write = (node: AgentNode, what: "thinks" | "writes"): boolean => {
  if (node.state.type === "settled" || (node.state.type === "working" && node.state.what === what)) return false
  node.state = { type: "working", what }
  return true
}

const part = (node: AgentNode, updated: Part): boolean => {
  if (updated.type === "tool") return call(node, updated)
  if (updated.type !== "step-finish") return false
  node.steps++
  node.tokens += tokensOf(updated)
  return true
}

const call = (node: AgentNode, { id, state, tool }: ToolPart): boolean => {
  if (state.status !== "running") return node.calls.delete(id)
  node.calls.set(id, { tool, title: state.title ?? "" })
  return true
}

const settle = (node: AgentNode, end: EventProperties<"subagent.completed">, now: number): boolean => {
  node.state = { type: "settled", outcome: end.outcome.status }
  node.calls.clear()
  node.ended = now
  return true
}
