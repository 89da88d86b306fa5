/** Decides how a backend says that it cannot do what was asked: the same way wherever it runs. */

/** The kinds of error, by the tag that the service has which refuses. */
export type BackendTag =
  | "AgentNotFound"
  | "BudgetExhausted"
  | "BudgetInvalid"
  | "CommandInvalid"
  | "CommandNotFound"
  | "CompactionFailed"
  | "ContextOverflow"
  | "ForkRefused"
  | "HookRefused"
  | "ModelError"
  | "ModelUnavailable"
  | "OutputInvalid"
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
  /** A turn that an earlier process began ended with an error. */
  | "TurnFailed"
  /** The server refuses the request, or answers with what this program does not understand. */
  | "ServerRefused"
  /** The server cannot be reached any more. */
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

/** Why a backend did not do what was asked. */
export type BackendError = { readonly [T in BackendTag]: Failed<T> }[BackendTag]
