/** Makes the events of a tree of agents: what the pure renderer is a fold over. */
import type { Event, EventType } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { add, none } from "@skein/domain/Usage"
import { AgentTree } from "@skein/view/AgentTree"

const idOf = (name: string) => `ses_${name}` as SessionID

const info = (name: string, parent: string | undefined, agent: string, title: string) =>
  ({
    id: idOf(name),
    parentID: parent === undefined ? undefined : idOf(parent),
    agent,
    title,
    usage: { own: none, subtree: none }
  }) as SessionInfo

/** A tree as its events tell it; times are milliseconds. */
export class TreeStory {
  readonly tree: AgentTree
  #now = 0

  constructor(agent: string, title: string) {
    this.tree = new AgentTree(info("root", undefined, agent, title), 0)
  }

  /** It is so late now. */
  at(now: number): this {
    this.#now = now
    return this
  }

  /** An event of a session, with what the tree looks at. */
  tell(name: string, type: EventType, properties: unknown): this {
    this.tree.see({ type, sessionID: idOf(name), timestamp: this.#now, properties } as unknown as Event)
    return this
  }

  /** An agent asks for a subagent. */
  delegate(name: string, agent: string, description: string, parent = "root"): this {
    return this
      .tell(name, "session.created", { info: info(name, parent, agent, description) })
      .tell(parent, "subagent.created", {
        task_id: idOf(name),
        trigger_session_id: idOf(parent),
        agent,
        description
      })
  }

  queued(name: string, position: number): this {
    return this.tell(name, "session.status", { status: { type: "queued", position } })
  }

  busy(name: string): this {
    return this.tell(name, "session.status", { status: { type: "busy", step: 1 } })
  }

  /** A request ended: what it used is charged to the session and to all above it. */
  step(name: string, tokens: number, cost = "0"): this {
    const used = { ...none, steps: 1, cost, tokens: { ...none.tokens, input: tokens - 10, output: 10 } }
    let node = this.tree.node(idOf(name))
    while (node?.info !== undefined) {
      const { own, subtree } = node.info.usage
      const usage = { own: node.id === idOf(name) ? add(own, used) : own, subtree: add(subtree, used) }
      const { id, parentID } = node
      this.tell(id.slice("ses_".length), "session.updated", { info: { ...node.info, usage } })
      node = parentID === undefined ? undefined : this.tree.node(parentID)
    }
    return this
  }

  call(name: string, tool: string, title: string): this {
    const state = { status: "running", input: {}, title, time: { start: this.#now } }
    return this.tell(name, "message.part.updated", { part: { type: "tool", id: `${name}-${tool}`, tool, state } })
  }

  end(name: string, outcome: { readonly status: string; readonly [key: string]: unknown }): this {
    const type = outcome.status === "completed" ? "subagent.completed" : "subagent.failed"
    return this.tell(name, type, { task_id: idOf(name), outcome })
  }
}
