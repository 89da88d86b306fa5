/** Reads the event log. An event that refers to a row shows the current row, and is left out if the row was deleted. */
import type { LoggedEvent, SessionStorage } from "@skein/core/SessionStorage"
import { type Event, type EventType, properties } from "@skein/domain/Event"
import { Message } from "@skein/domain/Message"
import { Part } from "@skein/domain/Part"
import { SessionInfo } from "@skein/domain/SessionInfo"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Schema from "effect/Schema"
import { type Decode, makeDecode } from "./decode.ts"
import { type Select, where } from "./dialect.ts"

interface EventRow {
  readonly position: number
  readonly tree_seq: number
  readonly id: string
  readonly session_id: string
  readonly root_id: string
  readonly parent_id: string | null
  readonly depth: number
  readonly type: string
  readonly time: number
  readonly ref: string | null
  readonly data: string
}

const pageSize = 500

const sql = (filter: string, order: "position" | "tree_seq"): string =>
  `SELECT event.position, event.tree_seq, event.id, event.session_id, event.root_id, event.parent_id, event.depth, event.type, event.time,
    event.ref, coalesce(event.data, part.data, message.data, session.data) AS data
  FROM event
  LEFT JOIN part ON event.type = 'message.part.updated' AND part.session_id = event.session_id AND part.id = event.ref
  LEFT JOIN message ON event.type = 'message.updated' AND message.session_id = event.session_id AND message.id = event.ref
  LEFT JOIN session ON event.type = 'session.updated' AND session.id = event.ref
  ${filter} ORDER BY event.${order} LIMIT ?`

const decoders = new Map<string, Decode<unknown>>([
  ["ref session.updated", makeDecode(SessionInfo)],
  ["ref message.updated", makeDecode(Message)],
  ["ref message.part.updated", makeDecode(Part)]
])

const decoderOf = (row: EventRow): Decode<unknown> | undefined => {
  const key = row.ref === null ? row.type : `ref ${row.type}`
  let decode = decoders.get(key)
  if (decode === undefined && row.type in properties) {
    // The kinds have different types, but each is decoded to itself.
    const schema = properties[row.type as EventType] as Schema.Schema<unknown>
    decoders.set(key, decode = makeDecode(schema))
  }
  return decode
}

const unknownKind = Either.left("a kind of event that this version does not know")

const loggedOf = (row: EventRow): Either.Either<LoggedEvent, string> =>
  Either.map(decoderOf(row)?.(row.data) ?? unknownKind, (value): LoggedEvent => ({
    seq: Number(row.tree_seq),
    position: Number(row.position),
    event: {
      id: row.id,
      type: row.type,
      timestamp: row.time,
      sessionID: row.session_id,
      rootID: row.root_id,
      ...(row.parent_id === null ? {} : { parentID: row.parent_id }),
      depth: row.depth,
      properties: row.ref === null ? value : row.type === "message.part.updated" ? { part: value } : { info: value }
    } as Event
  }))

/** Makes the reader. */
export const makeReadEvents = (read: Select): Context.Tag.Service<SessionStorage>["events"] =>
  Effect.fnUntraced(function*({ after, limit = Number.POSITIVE_INFINITY, onUnreadable, rootID, types }) {
    const events: Array<LoggedEvent> = []
    const order = rootID === undefined ? "position" : "tree_seq"
    const filter = where(
      { "event.root_id": rootID },
      `event.${order} > ?`,
      "(event.ref IS NULL OR coalesce(part.id, message.id, session.id) IS NOT NULL)",
      // The kinds are our own constants.
      ...(types === undefined ? [] : [`event.type IN (${types.map((type) => `'${type}'`).join(", ")})`])
    )
    let last = after
    while (events.length < limit) {
      const wanted = Math.min(pageSize, limit - events.length)
      const rows = yield* read<EventRow>("events", sql(filter.sql, order), [...filter.params, last, wanted])
      for (const row of rows) {
        last = Number(row[order])
        const logged = loggedOf(row)
        if (Either.isRight(logged)) events.push(logged.right)
        else if (onUnreadable === undefined) yield* Effect.logWarning(`Event ${row.id} is left out: ${logged.left}`)
        else {
          const { id, position, tree_seq: seq } = row
          onUnreadable({ id, reason: logged.left, seq: Number(seq), position: Number(position) })
        }
      }
      if (rows.length < wanted) break
    }
    return events
  })

interface RangeRow {
  readonly first: number | null
  readonly last: number | null
}

const ofTree = `SELECT (SELECT min(tree_seq) FROM event WHERE root_id = ?) AS first,
  coalesce(
    (SELECT last FROM event_counter WHERE root_id = ?), (SELECT max(tree_seq) FROM event WHERE root_id = ?)
  ) AS last`

const ofAll = "SELECT (SELECT min(position) FROM event) AS first, (SELECT max(position) FROM event) AS last"

/** Makes the reader. */
export const makeReadEventRange = (read: Select): Context.Tag.Service<SessionStorage>["eventRange"] => (rootID) =>
  Effect.map(
    rootID === undefined
      ? read<RangeRow>("eventRange", ofAll, [])
      : read<RangeRow>("eventRange", ofTree, [rootID, rootID, rootID]),
    ([row]) => {
      const last = Number(row?.last ?? 0)
      return { first: Number(row?.first ?? last + 1), last }
    }
  )
