/** Owns the live clients of a feed, and the connection of each: writes to it, and closes it if the client does not read. */
import * as Effect from "effect/Effect"
import type { ServerResponse } from "node:http"
import { mostUnread } from "../../ServerOptions.ts"
import { safeHeaders } from "../respond.ts"
import { type Frame, opening, resetFrame } from "./frames.ts"

/** How long a client may take to read what was sent before it is disconnected, in milliseconds. */
const patience = 30_000

/** A client of an event stream. */
export class EventClient {
  readonly #response: ServerResponse
  /** The last position that was sent. The client may continue from here. */
  #place: string
  #isOver = false

  constructor(response: ServerResponse, place: string) {
    this.#response = response
    this.#place = place
    // The end of the connection ends the stream. So each frame is one write instead of three.
    response.removeHeader("Transfer-Encoding")
    response.writeHead(200, {
      ...safeHeaders,
      "Content-Type": "text/event-stream; charset=utf-8",
      "X-Accel-Buffering": "no",
      Connection: "close"
    })
    response.write(opening)
  }

  /** Whether nothing more will be sent. */
  get isOver(): boolean {
    return this.#isOver || this.#response.destroyed
  }

  /** Whether a replay has to wait until the client has read more. */
  get isFull(): boolean {
    return this.#response.writableLength > mostUnread / 4
  }

  /** Sends a frame, and records its position. If too much is unread, resets the client instead. */
  send(frame: Frame, place?: string): void {
    if (this.isOver) return
    if (this.#response.writableLength > mostUnread) return this.reset()
    this.replay(frame, place)
  }

  /** Sends a frame of a replay, which waits for the client; see `isFull`. */
  replay(frame: Frame, place?: string): void {
    if (this.isOver) return
    if (place !== undefined) this.#place = place
    this.#response.write(frame)
  }

  /** Tells a slow client that events are missing from here on, and closes the connection. */
  reset(): void {
    if (this.isOver) return
    this.#response.write(resetFrame("too_slow", this.#place))
    this.end()
  }

  /** Closes the connection. What the client does not read in time is dropped. */
  end(): void {
    if (this.isOver) return
    this.#isOver = true
    this.#response.end()
    this.#response.socket?.setTimeout(patience, () => this.#response.destroy())
  }

  /** Waits until the client has read what was sent. Resets it if that takes too long. */
  get drained(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.isOver || !this.#response.writableNeedDrain) return Effect.void
      return Effect.timeoutTo(this.#drain(), {
        duration: patience,
        onSuccess: () => undefined,
        onTimeout: () => this.reset()
      })
    })
  }

  /** Waits until the connection accepts more, or is closed. */
  #drain(): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      const release = () => void this.#response.off("drain", done).off("close", done)
      const done = () => {
        release()
        resume(Effect.void)
      }
      this.#response.on("drain", done).on("close", done)
      return Effect.sync(release)
    })
  }
}

/** The clients that are live. All frames of one moment go to each in one write, which is made once for all. */
export class Audience {
  readonly #clients = new Set<EventClient>()
  #frames: Array<Frame> = []
  #place: string | undefined

  /** Whether there are no clients. */
  get isEmpty(): boolean {
    return this.#clients.size === 0
  }

  /** Sends a frame together with all others of this moment. `place` is a client's position after it. */
  tell(frame: Frame, place: string | undefined): void {
    if (this.#frames.push(frame) === 1) queueMicrotask(() => this.#flush())
    this.#place = place ?? this.#place
  }

  /** Adds a client, which gets all frames from now on. */
  join(client: EventClient): void {
    this.#flush()
    this.#clients.add(client)
  }

  /** Removes a client. */
  leave(client: EventClient): void {
    this.#clients.delete(client)
  }

  #flush(): void {
    const [first, ...more] = this.#frames
    if (first === undefined) return
    const frame = more.length === 0 ? first : Buffer.concat(this.#frames)
    this.#frames = []
    for (const client of this.#clients) client.send(frame, this.#place)
  }
}
