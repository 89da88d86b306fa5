/** Decides how a front end answers what agents ask, and what was allowed for good. */
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
  readonly permission: string
  readonly pattern: string
  readonly created: number
}

/** The questions. One that somebody else has answered first fails with `PermissionNotFound` or `QuestionNotFound`. */
export interface Asking {
  /** The questions that wait, of one tree or of all: those for permission first, each kind oldest first. */
  readonly pending: (session?: SessionID) => Effect.Effect<ReadonlyArray<PendingAsk>, BackendError>
  /** Answers a question for permission; `scope` says where `always` holds, by default in this tree. */
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
  /** Says that a question of an agent will not be answered. */
  readonly dismiss: (id: PartID) => Effect.Effect<void, BackendError>
  /** What was allowed for good in a project: all, or what applies to the tree of a session. */
  readonly approvals: (
    projectID: string,
    session?: SessionID
  ) => Effect.Effect<ReadonlyArray<Approval>, BackendError>
  /** Takes an approval back. */
  readonly revoke: (projectID: string, id: string) => Effect.Effect<void, BackendError>
}
