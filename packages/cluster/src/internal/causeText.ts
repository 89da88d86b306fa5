/** Says why something failed, in one line: where in the program it did is of use only if that is a fault of it. */
import { SqlError } from "@effect/sql/SqlError"
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"

const messageOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

/** An expected failure is its message, and that of what PostgreSQL or the system said. All others come with their stack. */
export const causeText = (cause: Cause.Cause<unknown>): string => {
  const failure = Option.getOrUndefined(Cause.failureOption(cause))
  if (failure === undefined) return Cause.pretty(cause)
  const inner = failure instanceof SqlError && failure.cause instanceof Error ? ` (${failure.cause.message})` : ""
  return `${messageOf(failure)}${inner}`
}
