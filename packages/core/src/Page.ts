/** Decides how lists are read in pages: a list is in the order of keys, and a cursor names the key that a page follows. */
import * as Effect from "effect/Effect"
import * as Encoding from "effect/Encoding"
import * as Schema from "effect/Schema"
import { fitting } from "./StorageFilter.ts"

/** A page of a list. `next` is where the following one begins, and is absent on the last one. */
export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly next?: string | undefined
}

/** Which page of a list: the one that begins at a `next`, or the first, and how long it is at most. */
export interface Paging {
  readonly cursor?: string | undefined
  readonly limit?: number | undefined
}

/** The most items of a page. */
export const largestPage = 500

/** The number of items on a page, unless another is asked for. */
export const usualPage = 50

/** The most that a page has, in characters of JSON, unless one item is larger. */
export const pageCharacters = 1_000_000

/** A cursor that the list did not give. */
export class BadCursor extends Schema.TaggedError<BadCursor>()("BadCursor", { message: Schema.String }) {}

const badCursor = () => new BadCursor({ message: "`cursor` is not one that this list gave. Begin without it." })

/** Makes opaque cursors, from the schema of what a list is sorted by. */
export const listCursor = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknown(Schema.parseJson(schema))
  return {
    write: (value: I): string => Encoding.encodeBase64Url(JSON.stringify(value)),
    /** What a cursor names; undefined for the first page. */
    read: (cursor: string | undefined): Effect.Effect<A | undefined, BadCursor> =>
      cursor === undefined
        ? Effect.succeed(undefined)
        : Encoding.decodeBase64UrlString(cursor).pipe(Effect.flatMap(decode), Effect.mapError(badCursor))
  }
}

/** The cursors of `pageOf`. */
export const keyCursor = listCursor(Schema.Struct({ after: Schema.String }))

/** A number as a part of a key. */
export const numberKey = (value: number): string => String(value).padStart(16, "0")

/** A page of a list that is in memory, in the order of unique keys: items that come or go between two pages move no others. */
export const pageOf = <A>(
  items: ReadonlyArray<A>,
  { cursor, limit = usualPage }: Paging,
  keyOf: (item: A) => string
): Effect.Effect<Page<A>, BadCursor> =>
  Effect.map(keyCursor.read(cursor), (place) => {
    const keyed = items.map((item) => ({ item, key: keyOf(item) })).toSorted((a, b) => a.key < b.key ? -1 : 1)
    const rest = place === undefined ? keyed : keyed.filter(({ key }) => key > place.after)
    const sizes = rest.slice(0, limit).map(({ item }) => JSON.stringify(item).length)
    const page = rest.slice(0, fitting(sizes, { limit, bytes: pageCharacters }))
    const last = page.at(-1)
    return {
      items: page.map(({ item }) => item),
      ...(last === undefined || page.length === rest.length ? {} : { next: keyCursor.write({ after: last.key }) })
    }
  })
