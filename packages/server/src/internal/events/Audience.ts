/**
 * Owns the live clients of a feed. All frames of one moment go to each client in one write, which is made once for all.
 */
import type { EventClient } from "./EventClient.ts"
import type { Frame } from "./frames.ts"

/** The clients that are live. */
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
