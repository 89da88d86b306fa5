/** Decides what is known about one agent of a tree, and why nobody continues a tree that has unfinished work. */
import type { AgentHistory } from "@skein/api/Output"
import type { SessionID } from "@skein/domain/Id"
import type { ModelRef } from "@skein/domain/Model"
import type { Outcome } from "@skein/domain/Outcome"
import type { MessageWithParts } from "@skein/domain/Part"
import type { SessionInfo, SessionStatus, SessionTurn } from "@skein/domain/SessionInfo"
import type { Usage } from "@skein/domain/Usage"

/** A status in which nobody continues a tree. */
export type Held = Extract<SessionStatus, { readonly type: "away" | "stuck" }>

/** Whether nobody continues a tree in this state, although its work is unfinished. */
export const isHeld = <S extends { readonly type: string }>(state: S): state is Extract<S, Held> =>
  state.type === "away" || state.type === "stuck"

/** Why nobody continues a tree. */
export const heldText = (held: Held): string =>
  held.type === "away"
    ? `waits for a server on the host ${held.host}: its directory is ${held.directory} there`
    : `cannot be continued: ${held.cause}. Servers try again from time to time`

/** What an agent did, as its tree recalls it. */
export const historyOf = (
  sessionID: SessionID,
  messages: ReadonlyArray<MessageWithParts>
): Omit<AgentHistory, "spans"> => {
  const calls: Array<AgentHistory["calls"][number]> = []
  let last: AgentHistory["last"]
  let model: AgentHistory["model"]
  for (const { info, parts } of messages) {
    if (info.role === "assistant") model = { providerID: info.providerID, modelID: info.modelID }
    for (const part of parts) {
      if (part.type !== "tool" || part.state.status === "pending") continue
      const title = "title" in part.state ? part.state.title ?? "" : ""
      last = { tool: part.tool, title }
      if (part.state.status === "running") calls.push({ id: part.id, tool: part.tool, title })
    }
  }
  return { sessionID, calls, ...(last === undefined ? {} : { last }), ...(model === undefined ? {} : { model }) }
}

/** A running tool call, or the last one. */
export interface Call {
  readonly tool: string
  readonly title: string
}

/** What an agent does, or why it does nothing. */
export type AgentState =
  | {
    readonly type: "working"
    readonly what: "thinks" | "writes" | "waits for its tasks" | "waits for budget" | "summarises"
  }
  | { readonly type: "queued" }
  | { readonly type: "retry"; readonly attempt: number; readonly message: string; readonly next: number }
  /** Nothing runs in it. For a root, also how its last turn ended, if it had one. */
  | { readonly type: "idle"; readonly end: SessionTurn["ended"] }
  /** The tree waits for a server on the host of its directory. */
  | { readonly type: "away"; readonly host: string; readonly directory: string }
  /** No server can continue the tree, for this cause. */
  | { readonly type: "stuck"; readonly cause: string }
  /** Another process works in it, at `url` if that is a server. */
  | { readonly type: "elsewhere"; readonly url?: string | undefined }
  /** Its turn has no end, and no process works on it. */
  | { readonly type: "interrupted" }
  | { readonly type: "settled"; readonly outcome: Outcome }

/** An agent. Times are milliseconds since 1970. */
export interface AgentNode {
  readonly id: SessionID
  readonly parentID: SessionID | undefined
  /** The latest known session; undefined while only its task is known. */
  info: SessionInfo | undefined
  agent: string
  title: string
  state: AgentState
  /** The model that answered last. */
  model: ModelRef | undefined
  /** Whether it is detached: no call waits for it. */
  background: boolean
  /** The running calls, in the order in which they began. */
  readonly calls: Map<string, Call>
  /** The call that began last. */
  lastCall: Call | undefined
  /** The subjects of the questions that it waits for, by the questions' ids. */
  readonly asks: Map<string, string>
  /** The usage of its own requests, and including everything below it, since the tree is watched. */
  own: Usage
  usage: Usage
  began: number
  ended: number | undefined
  /** How long it has waited in queues, and since when it is in one. */
  queued: number
  queuedSince: number | undefined
  /** Whether it has had a slot. From then on it only waits for requests. */
  hasWorked: boolean
  /** Whether its session was deleted. */
  isDeleted: boolean
  readonly children: Array<AgentNode>
}
