/**
 * Gathers from events, or from a snapshot and the events after it, what each agent of a tree is doing. Adds usage
 * without a decimal library, exactly as domain does.
 */
import type { AgentHistory } from "@skein/api/Output"
import type { Event, EventProperties } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { Message } from "@skein/domain/Message"
import type { TaskRun } from "@skein/domain/Outcome"
import type { Part } from "@skein/domain/Part"
import type { SessionInfo, SessionStatus } from "@skein/domain/SessionInfo"
import type { TreeSnapshot } from "@skein/domain/TreeSnapshot"
import type { Tokens, Usage } from "@skein/domain/Usage"
import { type AgentNode, isHeld } from "./AgentNode.ts"

/** Nothing used. */
export const nothing: Usage = {
  tokens: { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 },
  cost: "0",
  steps: 0,
  toolCalls: 0,
  blockedToolCalls: 0
}

const scaled = (decimal: string, scale: number): bigint => {
  const [whole = "0", fraction = ""] = decimal.split(".")
  return BigInt(whole + fraction.padEnd(scale, "0"))
}

const scaleOf = (decimal: string): number => decimal.split(".")[1]?.length ?? 0

const isPartial = (cost: string): boolean => cost === "unknown" || cost.endsWith("+")

const knownIn = (cost: string): string => cost === "unknown" ? "0" : cost.replace("+", "")

/** `a` plus `sign` times `b` as decimals. What is known stays known, and a negative result becomes zero. */
const combine = (a: string, b: string, sign: 1n | -1n): string => {
  if (b === "0") return a
  const [left, right] = [knownIn(a), knownIn(b)]
  const scale = Math.max(scaleOf(left), scaleOf(right))
  const value = scaled(left, scale) + sign * scaled(right, scale)
  const rest = isPartial(a) || isPartial(b) ? "+" : ""
  if (value <= 0n) return rest === "" ? "0" : "unknown"
  const digits = value.toString().padStart(scale + 1, "0")
  const sum = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`.replace(/\.?0+$/, "")
  return sum + rest
}

const kinds = ["input", "output", "reasoning", "cacheRead", "cacheWrite"] as const satisfies ReadonlyArray<keyof Tokens>

const merge = (a: Usage, b: Usage, sign: 1 | -1): Usage => {
  const count = (left: number, right: number) => Math.max(0, left + sign * right)
  const tokens = { ...a.tokens }
  for (const kind of kinds) tokens[kind] = count(a.tokens[kind], b.tokens[kind])
  return {
    tokens,
    cost: combine(a.cost, b.cost, sign === 1 ? 1n : -1n),
    steps: count(a.steps, b.steps),
    toolCalls: count(a.toolCalls, b.toolCalls),
    blockedToolCalls: count(a.blockedToolCalls, b.blockedToolCalls)
  }
}

/** Adds two usages. */
export const sum = (a: Usage, b: Usage): Usage => merge(a, b, 1)

/** The usage between two snapshots of the same thing. */
export const since = (before: Usage, after: Usage): Usage => before === nothing ? after : merge(after, before, -1)

/** The tokens of requests and answers together. */
export const tokensOf = ({ tokens: { input, output } }: Usage): number => input + output

interface Waiting {
  readonly position: number
  /** How many known members were ahead when it joined. */
  readonly ahead: number
}

/** The queues for slots and for requests. Both are served in the order in which their members joined. */
export class QueuePlaces {
  readonly #slots = new Map<SessionID, Waiting>()
  readonly #requests = new Map<SessionID, Waiting>()

  /** An agent joined at this place: for a slot, or for a request if it has a slot. */
  enter(id: SessionID, position: number, hasSlot: boolean): void {
    this.leave(id)
    const queue = hasSlot ? this.#requests : this.#slots
    queue.set(id, { position, ahead: queue.size })
  }

  /** An agent no longer waits. */
  leave(id: SessionID): void {
    this.#slots.delete(id)
    this.#requests.delete(id)
  }

  /** All places, from 1. Each member has moved up by the number of members that left ahead of it. */
  get now(): ReadonlyMap<SessionID, number> {
    const places = new Map<SessionID, number>()
    for (const queue of [this.#slots, this.#requests]) {
      let ahead = 0
      for (const [id, { ahead: before, position }] of queue) {
        places.set(id, Math.max(1, position - (before - ahead)))
        ahead++
      }
    }
    return places
  }
}

/** A session that was read, and its state at that time. */
type Listed = SessionInfo & { readonly status: SessionStatus }

/** A node's initial values while its session is unknown. */
type Known = Pick<SessionInfo, "id" | "agent"> & Partial<Pick<SessionInfo, "parentID">>

/** The agents of one tree and what they do. */
export class AgentTree {
  readonly #nodes = new Map<SessionID, AgentNode>()
  /** The usage of sessions before the tree was watched. */
  readonly #before = new Map<SessionID, SessionInfo["usage"]>()
  readonly #places = new QueuePlaces()
  /** Since when it is watched, in milliseconds since 1970: work before that does not count. */
  #watched: number
  readonly root: AgentNode

  /** The tree of one session, watched from now on. Earlier usage does not count. */
  constructor(session: SessionInfo, now: number) {
    this.#before.set(session.id, session.usage)
    this.#watched = now
    this.root = this.#add(session, now, session.title)
    this.#learn(this.root, session)
  }

  /** The tree of a snapshot, with all its usage; undefined if the snapshot has no session. */
  static of(snapshot: TreeSnapshot): AgentTree | undefined {
    const [root] = snapshot.sessions
    if (root === undefined) return undefined
    const tree = new AgentTree(root, root.turn?.began ?? root.time.created)
    tree.#before.clear()
    tree.#watched = 0
    const runs = new Map(snapshot.tasks.map((run) => [run.taskID, run]))
    for (const session of snapshot.sessions) {
      const node = session.id === root.id ? tree.root : tree.#add(session, session.time.created, session.title)
      tree.#learn(node, session)
      tree.#restore(node, session, runs.get(session.id))
    }
    for (const ask of snapshot.asks) {
      tree.#nodes.get(ask.sessionID)?.asks.set(ask.id, ask.type === "permission" ? ask.permission : "question")
    }
    // A turn that has ended may have left running work below it.
    for (const session of snapshot.sessions) {
      const node = tree.#nodes.get(session.id)
      if (session.status.type === "idle" && node !== undefined && node.state.type !== "settled") tree.#rest(node)
    }
    return tree
  }

  /** All agents, each before those below it. */
  get all(): ReadonlyArray<AgentNode> {
    return [...this.#nodes.values()]
  }

  /** The current places in the queues. */
  get places(): ReadonlyMap<SessionID, number> {
    return this.#places.now
  }

  /** An agent by the id of its session. */
  node(id: string): AgentNode | undefined {
    return this.#nodes.get(id as SessionID)
  }

  /** The name of a session's task; undefined for the root, or if it is unknown. */
  taskOf(id: SessionID): string | undefined {
    return id === this.root.id ? undefined : this.#nodes.get(id)?.title
  }

  /** Takes in what an agent did before: what events have told since is newer. */
  recall({ calls, last, model, sessionID }: Omit<AgentHistory, "spans">): void {
    const node = this.#nodes.get(sessionID)
    if (node === undefined) return
    node.model ??= model
    node.lastCall ??= last
    if (node.state.type === "settled") return
    for (const { id, title, tool } of calls) if (!node.calls.has(id)) node.calls.set(id, { title, tool })
  }

  /** Applies an event; returns whether anything visible has changed. */
  see(event: Event): boolean {
    if (event.type === "session.created" && !this.#nodes.has(event.properties.info.id)) {
      const { info } = event.properties
      this.#learn(this.#add(info, event.timestamp, info.title), info)
      return true
    }
    if (event.type === "subagent.created") return this.#begin(event.properties, event.timestamp)
    const node = this.#nodes.get(event.sessionID)
    if (node === undefined) return false
    // Nothing else comes from a tree that nobody continues.
    if (isHeld(this.root.state) && event.type !== "session.status") this.#rest(this.root)
    switch (event.type) {
      case "session.updated":
        return this.#change(node, event.properties.info)
      case "session.deleted":
        node.isDeleted = true
        return true
      case "session.status":
        return this.#status(node, event.properties.status, event.timestamp)
      case "session.idle":
        return this.#status(node, { type: "idle" }, event.timestamp)
      case "message.updated":
        return answer(node, event.properties.info)
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
        return this.#settle(node, event.properties, event.timestamp)
      default:
        return false
    }
  }

  #add(known: Known, now: number, title: string): AgentNode {
    const node: AgentNode = {
      id: known.id,
      parentID: known.parentID,
      info: undefined,
      agent: known.agent,
      title,
      state: { type: "working", what: "thinks" },
      model: undefined,
      background: false,
      calls: new Map(),
      lastCall: undefined,
      asks: new Map(),
      own: nothing,
      usage: nothing,
      began: now,
      ended: undefined,
      queued: 0,
      queuedSince: undefined,
      hasWorked: false,
      isDeleted: false,
      children: []
    }
    this.#nodes.set(known.id, node)
    if (known.parentID !== undefined) this.#nodes.get(known.parentID)?.children.push(node)
    return node
  }

  /** Updates a session. Its usage counts from the first snapshot of the tree. */
  #learn(node: AgentNode, info: SessionInfo): void {
    const before = this.#before.get(node.id)
    node.info = info
    node.own = before === undefined ? info.usage.own : since(before.own, info.usage.own)
    node.usage = before === undefined ? info.usage.subtree : since(before.subtree, info.usage.subtree)
  }

  #change(node: AgentNode, info: SessionInfo): boolean {
    // A task of an earlier process already has usage when its first event arrives here.
    if (node.info === undefined) this.#before.set(node.id, info.usage)
    this.#learn(node, info)
    node.agent = info.agent
    if (node === this.root) node.title = info.title
    if (node.state.type === "idle") node.state = { type: "idle", end: info.turn?.ended }
    // Its time is that of the present turn: what lay between two turns was no work.
    if (node === this.root && info.turn !== undefined) node.began = Math.max(this.#watched, info.turn.began)
    return true
  }

  /** Sets a node to its state in a snapshot. */
  #restore(node: AgentNode, { status }: Listed, run: TaskRun | undefined): void {
    if (run !== undefined) {
      node.title = run.description
      node.background = run.background
      node.began = run.time.created
      if (run.outcome !== undefined) {
        node.state = { type: "settled", outcome: run.outcome }
        node.ended = run.time.settled
        return
      }
      if (run.time.started !== undefined) {
        node.hasWorked = true
        node.queued = Math.max(0, run.time.started - run.time.created)
      }
      if (run.state === "queued" && status.type === "idle") {
        this.#status(node, { type: "queued", position: 1 }, run.time.created)
        return
      }
    }
    if (status.type !== "idle") this.#status(node, status, node.began)
    else this.#rest(node)
  }

  /** A run begins, in a new session or in one that continues. */
  #begin(task: EventProperties<"subagent.created">, now: number): boolean {
    const known = this.#nodes.get(task.task_id)
    if (known === undefined) {
      this.#add({ id: task.task_id, parentID: task.trigger_session_id, agent: task.agent }, now, task.description)
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
    if (status.type === "idle") {
      // What nobody continued did not end, and what worked elsewhere may have been interrupted.
      if (isHeld(node.state) || node.state.type === "elsewhere") this.#rest(node)
      else this.#rest(node, now)
      return true
    }
    node.ended = undefined
    if (status.type === "retry" || isHeld(status) || status.type === "elsewhere") node.state = status
    else if (status.type === "busy") {
      node.hasWorked = true
      node.state = { type: "working", what: "thinks" }
    } else node.state = { type: "working", what: status.type === "waiting" ? "waits for budget" : "summarises" }
    return true
  }

  /**
   * Its turn has ended. It still counts as working while something below it continues; a task until it has an outcome.
   */
  #rest(node: AgentNode, now?: number): void {
    const turn = node.info?.turn
    if (node.children.some(({ isDeleted, state }) => state.type !== "settled" && !isDeleted)) {
      node.state = { type: "working", what: "waits for its tasks" }
    } else if (now === undefined && turn !== undefined && turn.ended === undefined) node.state = { type: "interrupted" }
    else if (node === this.root) {
      node.state = { type: "idle", end: turn?.ended }
      node.ended = now ?? turn?.ended?.at ?? node.began
    }
  }

  #leaveQueue(node: AgentNode, now: number): void {
    this.#places.leave(node.id)
    if (node.queuedSince === undefined) return
    node.queued += Math.max(0, now - node.queuedSince)
    node.queuedSince = undefined
  }

  #settle(node: AgentNode, { outcome }: EventProperties<"subagent.completed">, now: number): boolean {
    this.#leaveQueue(node, now)
    node.state = { type: "settled", outcome }
    node.calls.clear()
    node.asks.clear()
    node.ended = now
    const above = node.parentID === undefined ? undefined : this.#nodes.get(node.parentID)
    if (above?.state.type === "working" && above.state.what === "waits for its tasks") this.#rest(above, now)
    return true
  }
}

const write = (node: AgentNode, what: "thinks" | "writes"): boolean => {
  if (node.state.type === "settled" || (node.state.type === "working" && node.state.what === what)) return false
  node.state = { type: "working", what }
  return true
}

const answer = (node: AgentNode, info: Message): boolean => {
  if (info.role !== "assistant") return false
  const { modelID, providerID } = info
  if (node.model?.modelID === modelID && node.model.providerID === providerID) return false
  node.model = { providerID, modelID }
  return true
}

const part = (node: AgentNode, updated: Part): boolean => {
  if (updated.type !== "tool") return updated.type === "step-finish"
  const { id, state, tool } = updated
  if (state.status !== "running") return node.calls.delete(id)
  const call = { tool, title: state.title ?? "" }
  node.calls.set(id, call)
  node.lastCall = call
  return true
}
