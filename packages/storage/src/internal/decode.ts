/** Decodes stored texts to values, or says why that fails. */
import { flattened, isTextNested } from "@skein/core/Nesting"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { compile } from "./check.ts"

/** Decodes a stored JSON text; a left says in one line why it is unreadable. */
export type Decode<A> = (text: string) => Either.Either<A, string>

const reasonLimit = 200

const reason = (error: ParseResult.ParseError): string => {
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
      fits ??= compile(schema.ast)
      return fits(value) ? Either.right(value as A) : Either.mapLeft(decode(value), reason)
    })
}
