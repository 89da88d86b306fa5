/** Owns the growing text parts, with the deltas since they were last stored, for clients that connect in between. */
import type { Event } from "@skein/domain/Event"
import type { PartID } from "@skein/domain/Id"
import type { Part } from "@skein/domain/Part"

interface Growing {
  /** The event of the last delta. */
  readonly last: Event<"message.part.delta">
  /** The part as of its last event; undefined if only deltas arrived. */
  readonly part: Part | undefined
  text: string
}

const textOf = (part: Part | undefined): string => part?.type === "text" || part?.type === "reasoning" ? part.text : ""

const grown = ({ last, part, text }: Growing): Event<"message.part.updated"> => {
  const { field, messageID, partID } = last.properties
  const base = part ?? {
    id: partID,
    sessionID: last.sessionID,
    messageID,
    type: field === "reasoning" ? "reasoning" : "text",
    text: ""
  }
  return { ...last, type: "message.part.updated", properties: { part: { ...base, text } as Part } }
}

/** The growing parts of a tree. */
export class GrowingParts {
  readonly #parts = new Map<PartID, Growing>()
  /** Text parts as of their last event, until their session is idle. */
  readonly #told = new Map<PartID, Part>()

  /** Records an event. */
  see(event: Event): void {
    switch (event.type) {
      case "message.part.delta": {
        const { delta, partID } = event.properties
        const part = this.#told.get(partID)
        const text = (this.#parts.get(partID)?.text ?? textOf(part)) + delta
        this.#parts.set(partID, { last: event, part, text })
        break
      }
      case "message.part.updated": {
        const { part } = event.properties
        if (part.type !== "text" && part.type !== "reasoning") break
        this.#parts.delete(part.id)
        if (part.time?.end === undefined) this.#told.set(part.id, part)
        else this.#told.delete(part.id)
        break
      }
      case "session.idle":
      case "session.deleted":
        for (const [id, { sessionID }] of this.#told) if (sessionID === event.sessionID) this.#told.delete(id)
        for (const [id, { last }] of this.#parts) if (last.sessionID === event.sessionID) this.#parts.delete(id)
        break
    }
  }

  /** The current parts, as events that are not stored. */
  get now(): ReadonlyArray<Event<"message.part.updated">> {
    return Array.from(this.#parts.values(), grown)
  }
}
