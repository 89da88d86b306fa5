/** Knows the places in the queues as they are now: told is only the one with which somebody came. */
import type { SessionID } from "@skein/domain/Id"

interface Waiting {
  readonly position: number
  /** How many of those that are known here were ahead when it came. */
  readonly ahead: number
}

/** Who waits for a slot, and who for a request: both queues are served in the order in which their members came. */
export class QueuePlaces {
  readonly #slots = new Map<SessionID, Waiting>()
  readonly #requests = new Map<SessionID, Waiting>()

  /** Somebody came, at this place: for a slot, or where it has one for a request. */
  enter(id: SessionID, position: number, hasSlot: boolean): void {
    this.leave(id)
    const queue = hasSlot ? this.#requests : this.#slots
    queue.set(id, { position, ahead: queue.size })
  }

  /** Somebody waits no longer. */
  leave(id: SessionID): void {
    this.#slots.delete(id)
    this.#requests.delete(id)
  }

  /** All places, from 1: each has moved up by as many as have left before it. */
  get now(): ReadonlyMap<SessionID, number> {
    const places = new Map<SessionID, number>()
    for (const queue of [this.#slots, this.#requests]) {
      let ahead = 0
      for (const [id, { ahead: before, position }] of queue) {
        places.set(id, Math.max(1, position - (before - ahead)))
        ahead++
      }
    }
    return places
  }
}
