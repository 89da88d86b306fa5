/** Decides which problem document an error of the services becomes. */
import { problem } from "@skein/api/Problem"
import type { AgentNotFound } from "@skein/core/Agent"
import type { PermissionNotFound, QuestionNotFound } from "@skein/core/Answerer"
import type { ExpandError } from "@skein/core/Command"
import type { ModeRefused } from "@skein/core/Isolation"
import { type BadCursor, numberKey, pageOf, type Paging } from "@skein/core/Page"
import type { TurnFailed } from "@skein/core/PersonPrompt"
import type { ProjectUnavailable } from "@skein/core/Projects"
import type { CompactError, PromptError, SummarizeError } from "@skein/core/Session"
import type { ArchiveInvalid } from "@skein/core/SessionArchive"
import type { StorageError } from "@skein/core/StorageError"
import type { TaskRefused } from "@skein/core/TaskRequest"
import type { ForkRefused } from "@skein/core/Turn"
import * as Effect from "effect/Effect"
import type { HostRefused } from "../../ServerOptions.ts"

/** The errors of the services. */
export type ServiceError =
  | AgentNotFound
  | ArchiveInvalid
  | BadCursor
  | HostRefused
  | ModeRefused
  | CompactError
  | ExpandError
  | ForkRefused
  | PermissionNotFound
  | ProjectUnavailable
  | PromptError
  | QuestionNotFound
  | StorageError
  | SummarizeError
  | TaskRefused
  | TurnFailed

const ofStorage = ({ message, reason }: StorageError) => {
  const details = { reason }
  switch (reason) {
    case "held":
      return problem(409, "HeldElsewhere", message, details)
    case "busy":
    case "full":
    case "readonly":
    case "gone":
      return problem(503, "StorageUnavailable", message, details)
    default:
      return problem(500, "StorageError", message, details)
  }
}

const ofTask = ({ message, reason }: TaskRefused) => {
  const details = { reason }
  switch (reason) {
    case "not_found":
    case "parent_not_found":
    case "not_a_child":
      return problem(404, "TaskNotFound", message, details)
    case "unknown_agent":
    case "bad_message":
    case "bad_model":
      return problem(422, "TaskRefused", message, details)
    default:
      return problem(409, "TaskRefused", message, details)
  }
}

const ofModel = (error: { readonly _tag: string; readonly reason: string; readonly message: string }) =>
  error.reason === "model" || error.reason === "unavailable"
    ? problem(502, error._tag, error.message, { reason: error.reason })
    : problem(409, error._tag, error.message, { reason: error.reason })

/** The problem document of an error. */
const toProblem = (error: ServiceError) => {
  switch (error._tag) {
    case "BadCursor":
      return problem(400, error._tag, error.message)
    case "SessionNotFound":
    case "PermissionNotFound":
    case "QuestionNotFound":
      return problem(404, error._tag, error.message)
    case "ForkRefused":
      return error.reason === "at_work"
        ? problem(409, error._tag, error.message, { reason: error.reason })
        : problem(404, error._tag, error.message, { reason: error.reason })
    case "HostRefused":
      return error.reason === "invalid"
        ? problem(422, error._tag, error.message)
        : problem(503, error._tag, error.message)
    case "ArchiveInvalid":
      return error.reason === "exists"
        ? problem(409, error._tag, error.message)
        : problem(422, error._tag, error.message)
    case "StorageError":
      return ofStorage(error)
    case "TaskRefused":
      return ofTask(error)
    case "CompactionFailed":
    case "SummaryFailed":
      return ofModel(error)
    case "ModelError":
    case "ModelUnavailable":
      return problem(502, error._tag, error.message, { reason: error.reason })
    case "HookRefused":
    case "PermissionDenied":
      return problem(403, error._tag, error.message)
    case "CommandNotFound":
      return problem(404, error._tag, error.message)
    case "AgentNotFound":
      return problem(422, error._tag, error.message, error.fault === undefined ? {} : { reason: "broken" })
    case "BudgetInvalid":
    case "CommandInvalid":
    case "ModeRefused":
    case "PromptInvalid":
    case "InvalidAnswer":
      return problem(422, error._tag, error.message)
    case "ProjectUnavailable":
      return error.host === undefined
        ? problem(422, error._tag, error.message)
        : { ...problem(503, "HostAway", error.message), title: "HostAway" }
    case "TurnFailed":
      return problem(409, error.tag, error.message, error.which === undefined ? {} : { which: error.which })
    case "BudgetExhausted":
      return problem(409, error._tag, error.message, { which: error.which })
    case "ContextOverflow":
    case "SessionStopped":
      return problem(409, error._tag, error.message)
  }
}

/** Fails with the problem document of an error. */
export const asProblem = <A, E extends ServiceError, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.mapError(effect, toProblem)

/** A page of a list that keeps its order. */
export const ordered = <A>(items: ReadonlyArray<A>, paging: Paging) =>
  asProblem(Effect.map(
    pageOf(items.map((item, at) => ({ item, at })), paging, ({ at }) => numberKey(at)),
    (page) => ({ ...page, items: page.items.map(({ item }) => item) })
  ))
