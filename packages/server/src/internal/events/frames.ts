/** Decides how events look on the wire: as server-sent events, encoded once however many hear them. */
import type { Event } from "@skein/domain/Event"

const encode = (text: string): Buffer => Buffer.from(text, "utf8")

/** A part of a stream: an event as it goes over the wire. */
export type Frame = Buffer

/** An event; one that is kept has the id from which a client may continue. */
export const frameOf = (event: Event, id?: string): Frame =>
  encode(`${id === undefined ? "" : `id: ${id}\n`}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)

/** Why a client cannot continue where it wants to. */
export type ResetReason =
  /** The events after that place are not kept any more. */
  | "too_old"
  /** There is no such place. */
  | "unknown"
  /** The client did not read what was sent. */
  | "too_slow"

/** Events are missing from here on: the client has to read everything again. `id` is the place to continue from. */
export const resetFrame = (reason: ResetReason, id: string): Frame =>
  encode(`id: ${id}\nevent: reset\ndata: ${JSON.stringify({ reason })}\n\n`)

/** Shows that the connection is alive. */
export const heartbeat: Frame = encode("event: heartbeat\ndata: {}\n\n")

/** Begins a stream; browsers wait that long before they connect again. */
export const opening: Frame = encode("retry: 1000\n\n")
