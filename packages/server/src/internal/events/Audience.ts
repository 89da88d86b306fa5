/** Owns who hears a feed: what is told at the same moment goes to each client in one write, made once for all. */
import type { EventClient } from "./EventClient.ts"
import type { Frame } from "./frames.ts"

/** The clients that are live. */
export class Audience {
  readonly #clients = new Set<EventClient>()
  #frames: Array<Frame> = []
  #place: string | undefined

  /** Whether nobody hears anything. */
  get isEmpty(): boolean {
    return this.#clients.size === 0
  }

  /** Sends a frame with all others of this moment; `place` is where a client stands that got it. */
  tell(frame: Frame, place: string | undefined): void {
    if (this.#frames.push(frame) === 1) queueMicrotask(() => this.#flush())
    this.#place = place ?? this.#place
  }

  /** Makes a client one of them: it hears what is told from now on. */
  join(client: EventClient): void {
    this.#flush()
    this.#clients.add(client)
  }

  /** A client hears nothing more. */
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
