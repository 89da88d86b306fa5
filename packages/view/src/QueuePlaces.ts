/** Computes the current places in the queues. Events only contain the place at which an agent joined. */
import type { SessionID } from "@skein/domain/Id"

interface Waiting {
  readonly position: number
  /** How many known members were ahead when it joined. */
  readonly ahead: number
}

/** The queues for slots and for requests. Both are served in the order in which their members joined. */
export class QueuePlaces {
  readonly #slots = new Map<SessionID, Waiting>()
  readonly #requests = new Map<SessionID, Waiting>()

  /** An agent joined at this place: for a slot, or for a request if it has a slot. */
  enter(id: SessionID, position: number, hasSlot: boolean): void {
    this.leave(id)
    const queue = hasSlot ? this.#requests : this.#slots
    queue.set(id, { position, ahead: queue.size })
  }

  /** An agent no longer waits. */
  leave(id: SessionID): void {
    this.#slots.delete(id)
    this.#requests.delete(id)
  }

  /** All places, from 1. Each member has moved up by the number of members that left ahead of it. */
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
