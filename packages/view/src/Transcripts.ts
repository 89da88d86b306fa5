/** Collects growing messages with their parts: those of open sessions, and the growing texts of all others. */
import type { Event, EventProperties } from "@skein/domain/Event"
import type { Message } from "@skein/domain/Message"
import type { MessageWithParts, Part } from "@skein/domain/Part"

type Growing = Extract<Part, { readonly type: "reasoning" | "text" }>

const isGrowing = (part: Part): part is Growing => part.type === "text" || part.type === "reasoning"

/** The messages of one session. Unchanged ones remain the same object. */
class Transcript {
  readonly #messages = new Map<string, MessageWithParts>()
  #sorted: ReadonlyArray<MessageWithParts> | undefined

  constructor(messages: ReadonlyArray<MessageWithParts>) {
    for (const message of messages) this.#messages.set(message.info.id, message)
  }

  get messages(): ReadonlyArray<MessageWithParts> {
    return this.#sorted ??= [...this.#messages.values()].toSorted((a, b) => a.info.id < b.info.id ? -1 : 1)
  }

  tell(info: Message): void {
    this.#sorted = undefined
    this.#messages.set(info.id, { info, parts: this.#messages.get(info.id)?.parts ?? [] })
  }

  /** Adds a part to its message. A message's event always precedes those of its parts, so other parts are ignored. */
  put(part: Part): boolean {
    const message = this.#messages.get(part.messageID)
    if (message === undefined) return false
    this.#sorted = undefined
    const at = message.parts.findIndex(({ id }) => id === part.id)
    const parts = at < 0
      ? [...message.parts, part].toSorted((a, b) => a.id < b.id ? -1 : 1)
      : message.parts.with(at, part)
    this.#messages.set(part.messageID, { info: message.info, parts })
    return true
  }
}

/** The messages of open sessions. */
export class Transcripts {
  readonly #open = new Map<string, Transcript>()
  /** Growing texts of all sessions, so that a session opened in the middle of an answer has all of it. */
  readonly #growing = new Map<string, Growing>()

  /** Opens a session, with its stored messages and what has grown since. */
  open(sessionID: string, messages: ReadonlyArray<MessageWithParts>): void {
    const transcript = new Transcript(messages)
    this.#open.set(sessionID, transcript)
    for (const part of this.#growing.values()) if (part.sessionID === sessionID) transcript.put(part)
  }

  /** Closes a session. */
  close(sessionID: string): void {
    this.#open.delete(sessionID)
  }

  /** The messages of an open session, oldest first; undefined if it is not open. */
  of(sessionID: string): ReadonlyArray<MessageWithParts> | undefined {
    return this.#open.get(sessionID)?.messages
  }

  /** Forgets growing texts, because the connection was lost. */
  forgetGrowing(): void {
    this.#growing.clear()
  }

  /** Applies an event; returns whether an open session has changed. */
  see(event: Event): boolean {
    const open = this.#open.get(event.sessionID)
    switch (event.type) {
      case "message.updated":
        open?.tell(event.properties.info)
        return open !== undefined
      case "message.part.updated":
        this.#note(event.properties.part)
        return open?.put(event.properties.part) ?? false
      case "message.part.delta":
        return this.#grown(event.sessionID, event.properties, open)
      case "session.idle":
      case "session.deleted":
        for (const [id, part] of this.#growing) if (part.sessionID === event.sessionID) this.#growing.delete(id)
        return false
      default:
        return false
    }
  }

  #note(part: Part): void {
    if (!isGrowing(part)) return
    if (part.time?.end === undefined) this.#growing.set(part.id, part)
    else this.#growing.delete(part.id)
  }

  #grown(
    sessionID: Growing["sessionID"],
    { delta, field, messageID, partID }: EventProperties<"message.part.delta">,
    open: Transcript | undefined
  ): boolean {
    const type = field === "reasoning" ? "reasoning" : "text"
    const before = this.#growing.get(partID) ?? { id: partID, sessionID, messageID, type, text: "" }
    const part: Growing = { ...before, text: before.text + delta }
    this.#growing.set(partID, part)
    return open?.put(part) ?? false
  }
}
