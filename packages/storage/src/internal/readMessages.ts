/** Reads the messages of a session with their parts. */
import type { Found } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import type { Newest } from "@skein/core/StorageFilter"
import type { SessionID } from "@skein/domain/Id"
import { Message } from "@skein/domain/Message"
import { type MessageWithParts, Part } from "@skein/domain/Part"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { makeDecode } from "./decode.ts"
import { readable, type Row } from "./rows.ts"
import type { Select, Snapshot } from "./select.ts"

const operation = "messages"
const decodeMessage = makeDecode(Message)
const decodePart = makeDecode(Part)

/** The maximum rows per read: more would hold all their texts twice, and block everything else. */
const pageSize = 500

/** Lets timers, sockets and files run. Uses real time, because a test clock that stands still must not block it. */
const breathe = Effect.withClock(Effect.sleep(0), Clock.make())

/** Makes the reader. All pages of a session come from one snapshot. */
export const makeReadMessages = (
  snapshot: Snapshot
): (id: SessionID, newest?: Newest) => Effect.Effect<Found<MessageWithParts>, StorageError> => {
  const eachPage = (
    select: Select,
    { of, since, table }: { readonly table: "message" | "part"; readonly of: SessionID; readonly since: string },
    use: (rows: ReadonlyArray<Row>) => void
  ) => {
    const message = table === "part" ? "message_id" : "id"
    const text = `SELECT id, data FROM ${table} WHERE session_id = ? AND ${message} >= ? AND id > ? ORDER BY id LIMIT ?`
    const from = (after: string): Effect.Effect<void, StorageError> =>
      Effect.flatMap(select<Row>(operation, text, [of, since, after, pageSize]), (rows) => {
        use(rows)
        const last = rows.length < pageSize ? undefined : rows.at(-1)
        return last === undefined ? Effect.void : Effect.zipRight(breathe, from(last.id))
      })
    return from("")
  }

  const newestMessages = (select: Select, id: SessionID, { before, limit }: Newest) =>
    before === undefined
      ? select<Row>(operation, "SELECT id, data FROM message WHERE session_id = ? ORDER BY id DESC LIMIT ?", [
        id,
        limit
      ])
      : select<Row>(
        operation,
        "SELECT id, data FROM message WHERE session_id = ? AND id < ? ORDER BY id DESC LIMIT ?",
        [id, before, limit]
      )

  return (id, newest) =>
    snapshot(Effect.fnUntraced(function*(select) {
      const found: Array<MessageWithParts> = []
      const partsOf = new Map<string, Array<Part>>()
      const unreadable: Array<Found<MessageWithParts>["unreadable"][number]> = []
      const take = (rows: ReadonlyArray<Row>) => {
        const messages = readable(rows, decodeMessage)
        for (const each of messages.unreadable) unreadable.push(each)
        for (const info of messages.rows) {
          const parts: Array<Part> = []
          partsOf.set(info.id, parts)
          found.push({ info, parts })
        }
      }
      let since = ""
      if (newest === undefined) yield* eachPage(select, { table: "message", of: id, since }, take)
      else {
        const rows = (yield* newestMessages(select, id, newest)).toReversed()
        take(rows)
        if (rows[0] === undefined) return { rows: found, unreadable }
        since = rows[0].id
      }
      yield* eachPage(select, { table: "part", of: id, since }, (rows) => {
        const parts = readable(rows, decodePart)
        for (const each of parts.unreadable) unreadable.push(each)
        for (const part of parts.rows) partsOf.get(part.messageID)?.push(part)
      })
      return { rows: found, unreadable }
    }))
}
