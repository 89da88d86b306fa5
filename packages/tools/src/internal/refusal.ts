/** The messages in which a tool refuses a call, or says that it failed. */
import type { PlatformError } from "@effect/platform/Error"
import { ToolError } from "@skein/core/Tool"
import * as Effect from "effect/Effect"

/** An error of a call: a tag for programs, a sentence for the model. */
export const refusal = (kind: string, message: string, metadata?: Readonly<Record<string, unknown>>): ToolError =>
  new ToolError(metadata === undefined ? { kind, message } : { kind, message, metadata })

/** Fails with such an error. */
export const refuse = (kind: string, message: string, metadata?: Readonly<Record<string, unknown>>) =>
  Effect.fail(refusal(kind, message, metadata))

/** Fails because a path names one of Skein's own files, which no call sees. */
export const refuseOwn = (given: string) =>
  refuse(
    ownFile,
    `${given} is one of the files in which Skein keeps its database, its tokens and what is trusted. No tool reads or changes them, whatever is allowed. Do without it, or tell the user what you need it for.`
  )

const ownFile = "own_file"

/** Whether a call may go on without a path that could not be resolved. It may not if that is one of Skein's own files. */
export const isMistake = ({ kind }: ToolError): boolean => kind !== ownFile

type Failure = PlatformError | NodeJS.ErrnoException

const isPlatformError = (error: Failure): error is PlatformError => "_tag" in error

const codeOf = (error: Failure): unknown => {
  const cause = isPlatformError(error) ? error.cause : error
  return typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined
}

/** Whether the error is that the file does not exist. */
export const isMissing = (error: Failure): boolean =>
  codeOf(error) === "ENOENT" || (isPlatformError(error) && error._tag === "SystemError" && error.reason === "NotFound")

const reasonOf = (error: Failure): string => {
  switch (codeOf(error)) {
    case "ENOENT":
      return "it does not exist"
    case "EACCES":
    case "EPERM":
      return "its mode or owner does not let this user do that"
    case "ENOTDIR":
      return "a part of its path is a file, not a directory"
    case "EISDIR":
      return "it is a directory"
    case "ENOSPC":
    case "EDQUOT":
      return "the disk is full; free some space and try again"
    case "EROFS":
      return "the file system is read-only"
    case "ENAMETOOLONG":
      return "the name is too long"
    case "EMFILE":
    case "ENFILE":
      return "too many files are open; try again with fewer calls at once"
    default:
      return isPlatformError(error) && error._tag === "SystemError" ? error.description ?? error.reason : error.message
  }
}

/** Says what could not be done to which file, and why. */
export const cannot = (verb: string, shown: string) => (error: Failure): ToolError =>
  refusal(isMissing(error) ? "not_found" : "file", `Could not ${verb} ${shown}: ${reasonOf(error)}.`)
