/** Decides the format of events on the wire: server-sent events, encoded once for all clients. */
import type { StorageTrouble } from "@skein/core/StorageHealth"
import type { Event } from "@skein/domain/Event"

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
