/** Handles unreadable rows: a list leaves them out, and a single one is an error. */
import type { Found } from "@skein/core/SessionStorage"
import { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { Decode } from "./decode.ts"

/** A row from the database. */
export interface Row {
  readonly id: string
  readonly data: string
}

/** Decodes rows, and lists the ids of unreadable ones. With a limit, it stops at that many readable rows. */
export const readable = <A>(
  rows: ReadonlyArray<Row>,
  decode: Decode<A>,
  limit = Number.POSITIVE_INFINITY
): Found<A> => {
  const found: Array<A> = []
  const unreadable: Array<Found<A>["unreadable"][number]> = []
  for (const { data, id } of rows) {
    if (found.length >= limit) break
    const decoded = decode(data)
    if (Either.isRight(decoded)) found.push(decoded.right)
    else unreadable.push({ id, reason: decoded.left })
  }
  return { rows: found, unreadable }
}

const unreadableError = (operation: string, { id, reason }: { readonly id: string; readonly reason: string }) =>
  new StorageError({
    operation,
    reason: "unreadable",
    message: `The stored row ${id} cannot be read (${reason}). `
      + "Use the version of Skein that wrote it, or delete the session that it belongs to."
  })

/** Decodes the only row, if there is one. */
export const oneReadable = <A>(
  operation: string,
  rows: ReadonlyArray<Row>,
  decode: Decode<A>
): Effect.Effect<Option.Option<A>, StorageError> => {
  const { rows: found, unreadable: [first] } = readable(rows, decode)
  return first === undefined
    ? Effect.succeed(Option.fromNullable(found[0]))
    : Effect.fail(unreadableError(operation, first))
}
