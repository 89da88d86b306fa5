/** Decodes stored texts to values, or says why that fails: a list leaves unreadable rows out, and a single one is an error. */
import { flattened, isTextNested } from "@skein/core/Nesting"
import type { Found } from "@skein/core/SessionStorage"
import { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"

type Check = (value: unknown) => boolean

const unsure: Check = () => false

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const fields = (ast: AST.TypeLiteral): Check => {
  if (ast.indexSignatures.some((index) => !AST.isStringKeyword(index.parameter))) return unsure
  const values = ast.indexSignatures.map((index) => compile(index.type))
  const properties = ast.propertySignatures.map((property) => ({
    name: property.name as string,
    optional: property.isOptional,
    check: compile(property.type),
    // The literal that distinguishes the members of a union rejects most of them immediately.
    rank: AST.isLiteral(property.type) ? 0 : 1
  }))
  properties.sort((a, b) => a.rank - b.rank)
  return (value) => {
    if (!isRecord(value)) return false
    for (const { check, name, optional } of properties) {
      const field = value[name]
      if (field === undefined ? !optional : !check(field)) return false
    }
    return values.every((check) => Object.values(value).every(check))
  }
}

/**
 * A predicate that is true only for values that the schema decodes to themselves. If it is false, the value may still
 * be valid: only the decoder knows. For a schema with transformations it is always false. It exists because decoding
 * with `effect/Schema` costs about 45 µs for each part, more than reading the row and parsing its JSON together: 10,000
 * messages would take two seconds to open.
 */
export const compile = (ast: AST.AST): Check => {
  switch (ast._tag) {
    case "StringKeyword":
      return (value) => typeof value === "string"
    case "NumberKeyword":
      return (value) => typeof value === "number"
    case "BooleanKeyword":
      return (value) => typeof value === "boolean"
    case "UnknownKeyword":
      return () => true
    case "Literal":
      return (value) => value === ast.literal
    case "Refinement": {
      const from = compile(ast.from)
      return (value) => from(value) && Option.isNone(ast.filter(value, AST.defaultParseOption, ast))
    }
    case "Union": {
      const members = ast.types.map(compile)
      return (value) => members.some((member) => member(value))
    }
    case "TupleType": {
      const [rest] = ast.rest
      if (ast.elements.length > 0 || ast.rest.length !== 1 || rest === undefined) return unsure
      const item = compile(rest.type)
      return (value) => Array.isArray(value) && value.every(item)
    }
    case "TypeLiteral":
      return fields(ast)
    default:
      return unsure
  }
}

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
      fits ??= compile(schema.ast)
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
