/** Rows as a read of storage gives them, those that cannot be read among them. */
import * as Effect from "effect/Effect"
import type { StorageError } from "./StorageError.ts"

/** Rows that were found, and the ids of those that could not be read, with the reason. */
export interface Found<A> {
  readonly rows: ReadonlyArray<A>
  readonly unreadable: ReadonlyArray<{ readonly id: string; readonly reason: string }>
}

/** What was read, or nothing where it cannot be: the log tells of it, and a session goes on without it. */
export const orUnreadable = <A, B>(
  read: Effect.Effect<A, StorageError>,
  nothing: B
): Effect.Effect<A | B, StorageError> =>
  Effect.catchIf(
    read,
    ({ reason }) => reason === "unreadable",
    (error) => Effect.as(Effect.logError(error.message), nothing)
  )
