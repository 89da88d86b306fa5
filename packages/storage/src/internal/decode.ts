/** Decodes stored texts to values, or says why that fails: a list leaves unreadable rows out, and a single one is an error. */
import { flattened, isTextNested } from "@skein/core/Nesting"
import { checkOf } from "@skein/core/SchemaCheck"
import type { Found } from "@skein/core/SessionStorage"
import { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"

/** Decodes a stored JSON text; a left says in one line why it is unreadable. */
export type Decode<A> = (text: string) => Either.Either<A, string>

const reasonLimit = 200

const reasonOf = (error: ParseResult.ParseError): string => {
  const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error)
  const path = issue === undefined || issue.path.length === 0 ? "" : `${issue.path.join(".")}: `
  const text = path + (issue === undefined ? error.message : issue.message)
  return text.length > reasonLimit ? `${text.slice(0, reasonLimit)}…` : text
}

/** Truncates what is nested too deeply in a row: no stored value may block a session. */
const parse = (text: string): Either.Either<unknown, string> =>
  Either.try({
    try: () => {
      const value: unknown = JSON.parse(text)
      return isTextNested(text) ? flattened(value) : value
    },
    catch: (cause) => `not JSON: ${String(cause)}`
  })

/**
 * Makes the decoder of a schema. It keeps unknown fields, so that a row of a later version loses nothing when it is
 * read and written back here. Compiling a schema takes a millisecond, so it is done for the first row.
 */
export const makeDecode = <A, I>(schema: Schema.Schema<A, I>): Decode<A> => {
  let fits: ((value: unknown) => boolean) | undefined
  const decode = Schema.decodeUnknownEither(schema, { onExcessProperty: "preserve" })
  return (text) =>
    Either.flatMap(parse(text), (value) => {
      fits ??= checkOf(schema.ast)
      return fits(value) ? Either.right(value as A) : Either.mapLeft(decode(value), reasonOf)
    })
}

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
