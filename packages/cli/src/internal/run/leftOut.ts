/** Decides which events a slow reader does not get: only those that later events replace. */
import type { Event } from "@skein/domain/Event"
import type { PartID } from "@skein/domain/Id"
import type { Streams } from "../../Stdio.ts"
import { mostWaiting } from "../../Stdio.ts"

/** The events that a run's output has skipped so far. */
export class LeftOut {
  readonly #waiting: Streams["waiting"]
  /** Parts with missing deltas. Their next event contains the whole part. */
  readonly #holed = new Set<PartID>()
  /** Calls whose `running` event was printed. Until their result, only progress follows. */
  readonly #running = new Set<PartID>()
  /** How many events were skipped. */
  count = 0
  /** Why events did not even arrive, as the server says it; undefined if all did. */
  missed: string | undefined = undefined

  constructor({ waiting }: Pick<Streams, "waiting">) {
    this.#waiting = waiting
  }

  /** Decides whether to skip an event, and counts it. */
  takes(event: Event): boolean {
    const isLeftOut = this.#isPassing(event)
    if (isLeftOut) this.count++
    return isLeftOut
  }

  #isPassing(event: Event): boolean {
    const isFull = this.#waiting() > mostWaiting
    switch (event.type) {
      case "message.part.delta": {
        const { partID } = event.properties
        if (isFull) this.#holed.add(partID)
        return this.#holed.has(partID)
      }
      case "message.part.updated": {
        const { id, type, ...part } = event.properties.part
        this.#holed.delete(id)
        if (type !== "tool" || !("state" in part)) return false
        if (part.state.status !== "running") {
          this.#running.delete(id)
          return false
        }
        if (isFull && this.#running.has(id)) return true
        this.#running.add(id)
        return false
      }
      case "session.status":
      case "background_task.progress":
        return isFull
      default:
        return false
    }
  }
}

const reasons: Readonly<Record<string, string>> = {
  unreadable: "the server cannot read them",
  too_old: "they are no longer stored"
}

/** The message about events that did not arrive. */
export const missedText = (reason: string): string =>
  `Events are missing in the output, because ${
    reasons[reason] ?? `of this: ${reason}`
  }. What they changed is stored: see \`skein sessions show ID\`.`

/** The message about skipped events. */
export const leftOutText = (count: number): string =>
  `The output was read too slowly: ${count} ${
    count === 1 ? "event" : "events"
  } of progress (pieces of text, statuses) were left out. Results are complete.`
