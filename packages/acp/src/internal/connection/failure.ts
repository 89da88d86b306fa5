/** Decides how to report to a client that something could not be done. */
import { RequestError } from "@agentclientprotocol/sdk/unstable"
import type { BackendError } from "@skein/backend/BackendError"
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"

/** A request that makes no sense here, with what to do instead. */
export interface BadRequest {
  readonly _tag: "BadRequest"
  readonly message: string
}

/** A session that this connection has not opened, or that is not there. */
interface UnknownSession {
  readonly _tag: "UnknownSession"
  readonly sessionId: string
}

/** Why a request fails. */
export type Failure = BackendError | BadRequest | UnknownSession

/** Makes a bad request. */
export const badRequest = (message: string): BadRequest => ({ _tag: "BadRequest", message })

const invalid = new Set([
  "BadRequest",
  "AgentNotFound",
  "CommandInvalid",
  "CommandNotFound",
  "ModeRefused",
  "ModelUnavailable",
  "PromptInvalid",
  "ProjectUnavailable"
])

/** The error that the client gets. An unexpected one has no details. */
export const errorOf = (cause: Cause.Cause<Failure>): RequestError => {
  const failure = Option.getOrUndefined(Cause.failureOption(cause))
  if (failure === undefined) {
    return new RequestError(-32603, Cause.isInterruptedOnly(cause) ? "The agent is ending." : "Internal error", {
      details: Cause.isInterruptedOnly(cause) ? undefined : Cause.pretty(cause).split("\n", 1)[0]
    })
  }
  if (failure._tag === "UnknownSession") return RequestError.sessionNotFound(failure.sessionId)
  return new RequestError(invalid.has(failure._tag) ? -32602 : -32603, failure.message, { tag: failure._tag })
}
