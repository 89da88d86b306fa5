/**
 * Decides which backend error an answer of a server becomes, and which failures of a request mean a lost connection.
 */
import type { Problem } from "@skein/api/Problem"
import { isOfProxy } from "@skein/client/SkeinClient"
import * as Data from "effect/Data"
import type { BackendError, BackendTag } from "../../BackendError.ts"

/** The failure of a request. */
class ServerFailure extends Data.Error<{
  readonly _tag: BackendTag
  readonly message: string
  readonly reason?: string
  readonly which?: string
}> {}

/** Makes an error of a backend. */
export const failure = (
  tag: BackendTag,
  message: string,
  { reason, which }: { readonly reason?: string | undefined; readonly which?: string | undefined } = {}
): BackendError =>
  // The tag is one of those of the union, whichever it is.
  new ServerFailure({
    _tag: tag,
    message,
    ...(reason === undefined ? {} : { reason }),
    ...(which === undefined ? {} : { which })
  }) as BackendError

/** The tags that problems share with the errors of the services. */
const tags: ReadonlySet<string> = new Set<BackendTag>([
  "AgentNotFound",
  "BadCursor",
  "BudgetExhausted",
  "BudgetInvalid",
  "CommandInvalid",
  "CommandNotFound",
  "CompactionFailed",
  "ContextOverflow",
  "ForkRefused",
  "HookRefused",
  "ModeRefused",
  "ModelError",
  "ModelUnavailable",
  "InvalidAnswer",
  "PermissionDenied",
  "PermissionNotFound",
  "ProjectUnavailable",
  "PromptInvalid",
  "QuestionNotFound",
  "SessionNotFound",
  "SessionStopped",
  "StorageError",
  "SummaryFailed",
  "TaskRefused"
])

/** The problems whose kind has another name than the service's error. */
const renamed: Readonly<Record<string, { readonly tag: BackendTag; readonly reason?: string }>> = {
  AskNotFound: { tag: "PermissionNotFound" },
  HeldElsewhere: { tag: "StorageError", reason: "held" },
  IdempotencyKeyReused: { tag: "PromptInvalid" },
  NoDirectory: { tag: "ProjectUnavailable", reason: "no_directory" },
  ServerLeaving: { tag: "ServerGone" },
  StorageUnavailable: { tag: "StorageError" },
  TaskNotFound: { tag: "TaskRefused", reason: "not_found" }
}

const isTag = (tag: string): tag is BackendTag => tags.has(tag)

/** The error of a problem document. */
export const ofProblem = ({ detail, reason, type, which }: Problem): BackendError => {
  const kind = type.replace(/^urn:skein:/, "")
  const other = renamed[kind]
  if (other !== undefined) return failure(other.tag, detail, { reason: reason ?? other.reason, which })
  return failure(isTag(kind) ? kind : "ServerRefused", detail, { reason, which })
}

/** Whether this is an error answer of a server. */
export const isProblem = (error: unknown): error is Problem =>
  typeof error === "object" && error !== null && "detail" in error && "status" in error && "type" in error

const codeOf = (error: unknown): string | undefined => {
  if (typeof error !== "object" || error === null) return undefined
  if ("code" in error && typeof error.code === "string") return error.code
  return "cause" in error ? codeOf(error.cause) : undefined
}

/** A request that ended without an answer. */
export interface Loss {
  /** Whether it certainly did not reach the server, so that it can be repeated. */
  readonly isUnsent: boolean
}

const isHttpError = (
  error: unknown
): error is { readonly _tag: "RequestError" | "ResponseError"; readonly reason: string } =>
  typeof error === "object" && error !== null && "_tag" in error
  && (error._tag === "RequestError" || error._tag === "ResponseError")

/** What servers of a cluster answer while a tree goes from one to another. */
const whileMoving: ReadonlySet<string> = new Set(["HeldElsewhere", "NoRunner", "RunnerLost"])

/**
 * Whether a server asks to be asked again: it is about to stop, or is one of a cluster whose tree is on its way to another
 * one. Nothing of a request that was refused was done.
 */
export const askAgain = ({ reason, type }: Problem, isCluster: boolean): Loss | undefined => {
  const kind = type.replace(/^urn:skein:/, "")
  if (kind === "ServerLeaving") return { isUnsent: reason === "refused" }
  return isCluster && whileMoving.has(kind) ? { isUnsent: kind !== "RunnerLost" } : undefined
}

/**
 * Whether a server says that its storage does not answer. It has tried for a while, and continues its work as soon as the
 * storage is back.
 */
export const isStorageAway = ({ reason, type }: Problem): boolean =>
  type === "urn:skein:StorageUnavailable" && reason !== "gone"

/** How the connection was lost, if that is the cause of the error. */
export const lossOf = (error: unknown): Loss | undefined => {
  if (!isHttpError(error)) return undefined
  if (error._tag === "RequestError") return { isUnsent: codeOf(error) === "ECONNREFUSED" }
  // The answer was cut off, so the request was carried out; or a proxy has lost the server, at whatever point.
  const isProxy = "response" in error && isOfProxy(error.response as Parameters<typeof isOfProxy>[0])
  return error.reason === "Decode" || isProxy ? { isUnsent: false } : undefined
}
