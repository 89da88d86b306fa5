/** Rows as storage reads them, including the unreadable ones. */
import * as Effect from "effect/Effect"
import type { StorageError } from "./StorageError.ts"

/** The rows found, and the ids of those that could not be read, with the reason. */
export interface Found<A> {
  readonly rows: ReadonlyArray<A>
  readonly unreadable: ReadonlyArray<{ readonly id: string; readonly reason: string }>
}

/** The result of a read, or nothing if it failed: that is logged, and the session continues without it. */
export const orUnreadable = <A, B>(
  read: Effect.Effect<A, StorageError>,
  nothing: B
): Effect.Effect<A | B, StorageError> =>
  Effect.catchIf(
    read,
    ({ reason }) => reason === "unreadable",
    (error) => Effect.as(Effect.logError(error.message), nothing)
  )
