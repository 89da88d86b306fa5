/** Decides how a stored text becomes a value again, or why it cannot. */
import { flattened, isTextNested } from "@skein/core/Nesting"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { compile } from "./check.ts"

/** Reads a stored JSON text; a left says in a line why it cannot be read. */
export type Decode<A> = (text: string) => Either.Either<A, string>

const reasonLimit = 200

const reason = (error: ParseResult.ParseError): string => {
  const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error)
  const path = issue === undefined || issue.path.length === 0 ? "" : `${issue.path.join(".")}: `
  const text = path + (issue === undefined ? error.message : issue.message)
  return text.length > reasonLimit ? `${text.slice(0, reasonLimit)}…` : text
}

/** What lies too deep in a row is cut: nothing that is stored may keep a session from going on. */
const parse = (text: string): Either.Either<unknown, string> =>
  Either.try({
    try: () => {
      const value: unknown = JSON.parse(text)
      return isTextNested(text) ? flattened(value) : value
    },
    catch: (cause) => `not JSON: ${String(cause)}`
  })

/**
 * Makes the decoder of a schema. Fields that the schema does not know are kept, so that a row which a later version wrote
 * loses nothing when it is read and written back here. Compiling a schema takes a millisecond: it waits for the first row.
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
