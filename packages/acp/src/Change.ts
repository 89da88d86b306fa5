/** Decides what the protocol can report about a tree of sessions, independent of the form that a client prefers. */
import type { PermissionRequest, QuestionRequest } from "@skein/domain/Event"
import type { MessageID, PartID, PermissionID, RunID, SessionID } from "@skein/domain/Id"
import type { ErrorInfo } from "@skein/domain/Message"
import type { Outcome } from "@skein/domain/Outcome"
import type { FilePart, ToolPart } from "@skein/domain/Part"
import type { Todo } from "@skein/domain/SessionInfo"
import type { Tokens } from "@skein/domain/Usage"
import type { Held } from "@skein/view/Held"

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
