/**
 * Decides the format of events on the wire: server-sent events, encoded once for all clients, and their positions as
 * opaque texts.
 */
import type { StorageTrouble } from "@skein/core/StorageHealth"
import type { Event } from "@skein/domain/Event"
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

const encode = (text: string): Buffer => Buffer.from(text, "utf8")

/** A frame: an event as it is sent. */
export type Frame = Buffer

/** The frame of an event. A stored event has the id from which a client may continue. */
export const frameOf = (event: Event, id?: string): Frame =>
  encode(`${id === undefined ? "" : `id: ${id}\n`}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)

/** Why a client cannot continue from its position. */
export type ResetReason =
  /** The events after that position are no longer stored. */
  | "too_old"
  /** There is no such position. */
  | "unknown"
  /** An event up to that position is damaged, or of a kind that this server does not know. */
  | "unreadable"
  /** The client did not read what was sent. */
  | "too_slow"

/** Events are missing from here on, so the client has to reload everything. `id` is the position to continue from. */
export const resetFrame = (reason: ResetReason, id: string): Frame =>
  encode(`id: ${id}\nevent: reset\ndata: ${JSON.stringify({ reason })}\n\n`)

/** Shows that the connection is alive, and whether the storage is away: no event comes until it is back. */
export const heartbeat = (trouble: StorageTrouble | undefined): Frame =>
  encode(
    `event: heartbeat\ndata: ${
      JSON.stringify(trouble === undefined ? {} : { storage: "away", since: trouble.since })
    }\n\n`
  )

/** Begins a stream; browsers wait this long before they reconnect. */
export const opening: Frame = encode("retry: 1000\n\n")
