/** Reads the messages of a session with their parts. */
import type { Found, MessagePage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import { fitting, type Following, type Newest } from "@skein/core/StorageFilter"
import { MessageID, type SessionID } from "@skein/domain/Id"
import { Message } from "@skein/domain/Message"
import { type MessageWithParts, Part } from "@skein/domain/Part"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { makeDecode, readable, type Row } from "./decode.ts"
import type { Select, Snapshot } from "./dialect.ts"

const operation = "messages"
const decodeMessage = makeDecode(Message)
const decodePart = makeDecode(Part)

/** The maximum rows per read: more would hold all their texts twice, and block everything else. */
const pageSize = 500

/** How large messages are with their parts. The lengths are read without the texts. */
const sizesText = (which: string) =>
  `SELECT id, octet_length(data) + coalesce((
    SELECT sum(octet_length(part.data)) FROM part WHERE part.session_id = message.session_id AND part.message_id = message.id
  ), 0) AS size FROM message WHERE session_id = ? AND ${which} LIMIT ?`

const followingText = sizesText("id > ? ORDER BY id")
const newestText = sizesText("id < ? ORDER BY id DESC")

/** Sorts after every id. */
const behind = "~"

const messagesText = "SELECT id, data FROM message WHERE session_id = ? AND id >= ? AND id <= ? ORDER BY id"

/** Lets timers, sockets and files run. Uses real time, because a test clock that stands still must not block it. */
const breathe = Effect.withClock(Effect.sleep(0), Clock.make())

/** From one message to another. */
interface Span {
  readonly since: string
  readonly until: string
}

/** Makes the readers. What one returns comes from one snapshot. */
export const makeReadMessages = (snapshot: Snapshot): {
  readonly messages: (id: SessionID) => Effect.Effect<Found<MessageWithParts>, StorageError>
  readonly messagePage: (id: SessionID, page: Following | Newest) => Effect.Effect<MessagePage, StorageError>
} => {
  const eachPage = <A extends Row>(
    read: (after: A | undefined) => Effect.Effect<ReadonlyArray<A>, StorageError>,
    use: (rows: ReadonlyArray<A>) => void
  ) => {
    const from = (after: A | undefined): Effect.Effect<void, StorageError> =>
      Effect.flatMap(read(after), (rows) => {
        use(rows)
        const last = rows.length < pageSize ? undefined : rows.at(-1)
        return last === undefined ? Effect.void : Effect.zipRight(breathe, from(last))
      })
    return from(undefined)
  }

  /** All rows of a session in a table. */
  const eachRow = (
    select: Select,
    table: "message" | "part",
    of: SessionID,
    use: (rows: ReadonlyArray<Row>) => void
  ) => {
    const text = `SELECT id, data FROM ${table} WHERE session_id = ? AND id > ? ORDER BY id LIMIT ?`
    return eachPage<Row>((after) => select(operation, text, [of, after?.id ?? "", pageSize]), use)
  }

  /** The parts of the messages from one to another. In the order of their index: any other would read all of the session. */
  const eachPart = (select: Select, of: SessionID, { since, until }: Span, use: (rows: ReadonlyArray<Row>) => void) => {
    const text = `SELECT id, message_id, data FROM part WHERE session_id = ? AND (message_id, id) > (?, ?)
      AND message_id <= ? ORDER BY message_id, id LIMIT ?`
    return eachPage<Row & { readonly message_id: string }>(
      (after) => select(operation, text, [of, after?.message_id ?? since, after?.id ?? "", until, pageSize]),
      use
    )
  }

  /** Adds messages, and then their parts. */
  const collecting = () => {
    const found: Array<MessageWithParts> = []
    const partsOf = new Map<string, Array<Part>>()
    const unreadable: Array<Found<MessageWithParts>["unreadable"][number]> = []
    return {
      result: { rows: found, unreadable },
      takeMessages: (rows: ReadonlyArray<Row>) => {
        const messages = readable(rows, decodeMessage)
        for (const each of messages.unreadable) unreadable.push(each)
        for (const info of messages.rows) {
          const parts: Array<Part> = []
          partsOf.set(info.id, parts)
          found.push({ info, parts })
        }
      },
      takeParts: (rows: ReadonlyArray<Row>) => {
        const parts = readable(rows, decodePart)
        for (const each of parts.unreadable) unreadable.push(each)
        for (const part of parts.rows) partsOf.get(part.messageID)?.push(part)
      }
    }
  }

  return {
    messages: (id) =>
      snapshot(Effect.fnUntraced(function*(select) {
        const { result, takeMessages, takeParts } = collecting()
        yield* eachRow(select, "message", id, takeMessages)
        yield* eachRow(select, "part", id, takeParts)
        return result
      })),
    messagePage: (id, page) =>
      snapshot(Effect.fnUntraced(function*(select) {
        const { result, takeMessages, takeParts } = collecting()
        const isFollowing = "after" in page
        const sizes = yield* select<{ readonly id: string; readonly size: number }>(
          operation,
          isFollowing ? followingText : newestText,
          [id, isFollowing ? page.after : page.before ?? behind, page.limit + 1]
        )
        const [first] = sizes
        const last = sizes[fitting(sizes.map(({ size }) => Number(size)), page) - 1]
        if (first === undefined || last === undefined) return result
        const span = isFollowing ? { since: first.id, until: last.id } : { since: last.id, until: first.id }
        takeMessages(yield* select<Row>(operation, messagesText, [id, span.since, span.until]))
        yield* eachPart(select, id, span, takeParts)
        return sizes.at(-1)?.id === last.id ? result : { ...result, next: MessageID.make(last.id) }
      }))
  }
}
