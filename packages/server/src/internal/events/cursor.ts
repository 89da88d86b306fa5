/** Decides how clients see a position in the log of all trees, or in a list: as an opaque text. */
import { problem } from "@skein/api/Problem"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"

const Place = Schema.parseJson(Schema.Tuple(Schema.Literal(1), Schema.NonNegativeInt))

const decodePlace = Schema.decodeUnknownEither(Place)

const write = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")

const read = (cursor: string): string => Buffer.from(cursor, "base64url").toString("utf8")

/** The cursor of a position in the log. */
export const cursorOf = (position: number): string => write([1, position])

/** The position of a cursor; undefined if the text is not one. */
export const positionOf = (cursor: string): number | undefined =>
  Either.match(decodePlace(read(cursor)), { onLeft: () => undefined, onRight: ([, position]) => position })

/** The default number of items on a page of a list. */
export const usualPage = 50

const badCursor = () => problem(400, "BadCursor", "`cursor` is not one that this list gave. Begin without it.")

/** Makes cursors of lists, from the schema of what a list is sorted by. */
export const listCursor = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknown(Schema.parseJson(schema))
  return {
    write: (value: I): string => write(value),
    /** What a request names; undefined for the first page. */
    read: (cursor: string | undefined) =>
      cursor === undefined ? Effect.succeed(undefined) : Effect.mapError(decode(read(cursor)), badCursor)
  }
}
