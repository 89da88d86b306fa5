/** Decides how a backend reports errors: the same way wherever it runs. */

/** The kinds of error, each with the tag of the service's own error. */
export type BackendTag =
  | "AgentNotFound"
  | "BadCursor"
  | "BudgetExhausted"
  | "BudgetInvalid"
  | "CommandInvalid"
  | "CommandNotFound"
  | "CompactionFailed"
  | "ContextOverflow"
  | "ForkRefused"
  | "HookRefused"
  | "ModeRefused"
  | "ModelError"
  | "ModelUnavailable"
  | "InvalidAnswer"
  | "PermissionDenied"
  | "PermissionNotFound"
  | "ProjectUnavailable"
  | "PromptInvalid"
  | "QuestionNotFound"
  | "SessionNotFound"
  | "SessionStopped"
  | "StorageError"
  | "SummaryFailed"
  | "TaskRefused"
  /** A turn of an earlier process failed. */
  | "TurnFailed"
  /** The server refused the request, or sent an answer that this program does not understand. */
  | "ServerRefused"
  /** The server can no longer be reached. */
  | "ServerGone"

/** An error of one kind. */
export interface Failed<T extends BackendTag> {
  readonly _tag: T
  /** What happened, where, and how to fix it. */
  readonly message: string
  /** The case, for kinds that have several, such as `held` of a `StorageError`. */
  readonly reason?: string | undefined
  /** The exhausted budget. */
  readonly which?: string | undefined
}

/** Why a backend did not carry out a request. */
export type BackendError = { readonly [T in BackendTag]: Failed<T> }[BackendTag]
