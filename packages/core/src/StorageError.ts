/** Decides how to report, and how to log, a failure of storage. */
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"

/** Something could not be stored or read. The message says what, where, and how to fix it. */
export class StorageError extends Schema.TaggedError<StorageError>()("StorageError", {
  operation: Schema.String,
  reason: Schema.Literal(
    "busy",
    "full",
    "readonly",
    "corrupt",
    "newer",
    "older",
    "foreign",
    "unreadable",
    "constraint",
    "held",
    "gone",
    "other"
  ),
  message: Schema.String
}) {}

/**
 * Whether the storage itself is to blame, and may work again later: it does not answer, waits for a lock, restarts, has no
 * space, or cannot be written. Storage repeats what failed with `busy` or `full` for half a minute before it says so.
 */
export const isOutage = ({ reason }: StorageError): boolean =>
  reason === "busy" || reason === "full" || reason === "readonly"

/**
 * Whether the storage is to blame, for now or permanently, and not the change that it refused or the row that it read. This is no
 * outcome of an agent: the work stops here, and continues from its last stored step. If the database is gone, there is none.
 */
export const isFault = (error: StorageError): boolean =>
  isOutage(error) || error.reason === "corrupt" || error.reason === "other"

/** Nothing of a session is stored from its removal on. */
export const storedTooLate = (id: string): StorageError =>
  new StorageError({
    operation: "commit",
    reason: "held",
    message: `Nothing was changed: the session ${id} was removed.`
  })

/** A process that no longer holds a tree of sessions may not change it. */
export const heldByAnother = (operation: string, { rootID }: { readonly rootID: string }): StorageError =>
  new StorageError({
    operation,
    reason: "held",
    message:
      `Nothing was changed: this process no longer holds the session ${rootID}. Another one took it over, or it was removed.`
  })

/**
 * Logs it as an error. If the tree is no longer held, its next holder continues from what is stored, and nothing is
 * lost.
 */
export const logUnstored = (message: string) => (error: StorageError): Effect.Effect<void> =>
  error.reason === "held" ? Effect.logDebug(message, error.message) : Effect.logError(message, error.message)

/** Whether a turn ended because something could not be stored. */
export const failedToStore = (exit: Exit.Exit<unknown, { readonly _tag: string }>): boolean =>
  Exit.isFailure(exit) && Chunk.some(Cause.failures(exit.cause), (error) => error._tag === "StorageError")

/** Whether something ended because its database was deleted or replaced. */
export const isGone = (exit: Exit.Exit<unknown, { readonly _tag: string }>): boolean =>
  Exit.isFailure(exit)
  && Chunk.some(Cause.failures(exit.cause), (error) => error instanceof StorageError && error.reason === "gone")
