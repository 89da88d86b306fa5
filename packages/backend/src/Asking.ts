/** Decides how a front end answers the questions of agents, and manages approvals. */
import type { PermissionReply } from "@skein/domain/Event"
import type { PartID, PermissionID, SessionID } from "@skein/domain/Id"
import type { PendingAsk } from "@skein/domain/TreeSnapshot"
import type * as Effect from "effect/Effect"
import type { BackendError } from "./BackendError.ts"

/** An answer of `always`, as it is stored. */
export interface Approval {
  readonly id: string
  readonly projectID: string
  readonly rootID?: SessionID | undefined
  /** Of one for the project, in a database of several hosts: where it counts. */
  readonly host?: string | undefined
  readonly permission: string
  readonly pattern: string
  readonly created: number
}

/** The questions. If somebody else answered one first, it fails with `PermissionNotFound` or `QuestionNotFound`. */
export interface Asking {
  /** The waiting questions, of one tree or of all: permission questions first, each kind oldest first. */
  readonly pending: (session?: SessionID) => Effect.Effect<ReadonlyArray<PendingAsk>, BackendError>
  /** Answers a permission question; `scope` says where `always` applies, by default in this tree. */
  readonly reply: (
    id: PermissionID,
    answer: PermissionReply,
    options?: { readonly message?: string; readonly scope?: "tree" | "project" }
  ) => Effect.Effect<void, BackendError>
  /** Answers a question of an agent. */
  readonly answer: (
    id: PartID,
    answers: readonly [string, ...ReadonlyArray<string>]
  ) => Effect.Effect<void, BackendError>
  /** Dismisses a question of an agent. */
  readonly dismiss: (id: PartID) => Effect.Effect<void, BackendError>
  /** The approvals of a project: all, or those that apply to a session's tree. */
  readonly approvals: (
    projectID: string,
    session?: SessionID
  ) => Effect.Effect<ReadonlyArray<Approval>, BackendError>
  /** Revokes an approval. */
  readonly revoke: (projectID: string, id: string) => Effect.Effect<void, BackendError>
}
