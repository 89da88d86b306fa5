/** Gathers what a model thinks as it streams: what is said after a thought stands below it. */
import type { Event } from "@skein/domain/Event"
import type { ReasoningPart } from "@skein/domain/Part"

/** The thought of one session that grows. */
export class GrowingThought {
  #part: (ReasoningPart & { readonly time: { readonly start: number } }) | undefined

  /** Takes an event of the session in; gives the thought that has ended, because words follow it. */
  see(event: Event): ReasoningPart | undefined {
    // It failed, and is tried again.
    if (event.type === "session.status" && event.properties.status.type === "retry") this.#part = undefined
    if (event.type !== "message.part.delta") return undefined
    const { delta, field, messageID, partID } = event.properties
    const before = this.#part
    if (field === "reasoning") {
      const { sessionID, timestamp } = event
      const { text, time } = before?.id === partID ? before : { text: "", time: { start: timestamp } }
      this.#part = { id: partID, sessionID, messageID, type: "reasoning", text: text + delta, time }
      return undefined
    }
    this.#part = undefined
    return before?.messageID === messageID
      ? { ...before, time: { start: before.time.start, end: event.timestamp } }
      : undefined
  }
}
