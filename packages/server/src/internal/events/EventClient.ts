/** Owns one client's connection: writes to it, and ends it if the client does not read. */
import * as Effect from "effect/Effect"
import type { ServerResponse } from "node:http"
import { mostUnread } from "../../ServerOptions.ts"
import { type Frame, opening, resetFrame } from "./frames.ts"

/** How long a client has to read what was sent before it is cut off, in milliseconds. */
const patience = 30_000

/** A client that hears events. */
export class EventClient {
  readonly #response: ServerResponse
  /** Names the place that the client has read up to. */
  readonly #place: () => string | number
  #isOver = false

  constructor(response: ServerResponse, place: () => string | number) {
    this.#response = response
    this.#place = place
    response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no" })
    response.write(opening)
  }

  /** Whether nothing is sent any more. */
  get isOver(): boolean {
    return this.#isOver || this.#response.destroyed
  }

  /** Sends a frame; if too much is unread, it resets the client and closes the connection. */
  send(frame: Frame): void {
    if (this.isOver) return
    if (this.#response.writableLength > mostUnread) this.end(resetFrame("too_slow", this.#place()))
    else this.#response.write(frame)
  }

  /** Sends a frame of a replay, which waits for its reader; see `isFull`. */
  replay(frame: Frame): void {
    if (!this.isOver) this.#response.write(frame)
  }

  /** Whether a replay has to wait until more was read. */
  get isFull(): boolean {
    return this.#response.writableLength > mostUnread / 4
  }

  /** Sends a last frame and closes the connection. What the client does not read is dropped after a while. */
  end(frame?: Frame): void {
    if (this.isOver) return
    this.#isOver = true
    if (frame !== undefined) this.#response.write(frame)
    this.#response.end()
    this.#response.socket?.setTimeout(patience, () => this.#response.destroy())
  }

  /** Waits until the client has read most of what was sent; ends the connection if that takes too long. */
  readonly drained: Effect.Effect<void> = Effect.suspend(() => {
    if (this.isOver || !this.#response.writableNeedDrain) return Effect.void
    const waiting = Effect.async<void>((resume) => {
      const done = () => resume(Effect.void)
      this.#response.once("drain", done).once("close", done)
      return Effect.sync(() => void this.#response.off("drain", done).off("close", done))
    })
    return Effect.timeoutTo(waiting, {
      duration: patience,
      onSuccess: () => undefined,
      onTimeout: () => this.end(resetFrame("too_slow", this.#place()))
    })
  })

  /** Waits until the connection is closed. */
  readonly closed: Effect.Effect<void> = Effect.async<void>((resume) => {
    if (this.#response.destroyed) return resume(Effect.void)
    const done = () => resume(Effect.void)
    this.#response.once("close", done)
    return Effect.sync(() => void this.#response.off("close", done))
  })
}
