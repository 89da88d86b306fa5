/** Owns the transcript of one session in a full-screen view: what was said before, and what its events add. */
import type { Event } from "@skein/domain/Event"
import type { MessageWithParts } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { escapeLine } from "../../Escape.ts"
import type { Key } from "../../Key.ts"
import type { Style } from "../../Style.ts"
import { eventsOf, Transcript } from "../calls/transcript.ts"
import { Pager } from "../list/Pager.ts"
import type { TaskKeys } from "./keys.ts"
import type { Request } from "./Request.ts"

/** The most rows of a line that grows. */
const growing = 40

/** A transcript that is open. */
export class Reading {
  readonly session: SessionInfo
  readonly pager: Pager
  readonly #keys: TaskKeys
  readonly #transcript: Transcript
  readonly #lines: Array<string> = []
  /** What came before what was said was known; undefined from then on. */
  #held: Array<Event> | undefined = []

  constructor(session: SessionInfo, keys: TaskKeys, style: Style, columns: () => number) {
    this.session = session
    this.#keys = keys
    this.#transcript = new Transcript(session.id, style, columns, { showsPrompts: true, isWhole: true })
    const title = `${escapeLine(session.agent)}: ${escapeLine(session.title)}`
    this.pager = new Pager(title, this.#lines, true, () => keys.line ?? keys.hint(session.id))
  }

  /** Takes in what was said before. */
  recall(messages: ReadonlyArray<MessageWithParts>): void {
    for (const message of messages) for (const event of eventsOf(message, this.session)) this.#transcript.see(event)
    for (const event of this.#held ?? []) this.#transcript.see(event)
    this.#held = undefined
    this.#show()
  }

  /** Takes an event in; says whether there is anything new. */
  see(event: Event): boolean {
    if (event.sessionID !== this.session.id) return false
    if (this.#held !== undefined) {
      // Pieces of text are part of what was stored, or of what is published next.
      if (event.type !== "message.part.delta") this.#held.push(event)
      return false
    }
    if (!this.#transcript.see(event)) return false
    this.#show()
    return true
  }

  /** What a key does besides scrolling. */
  press(key: Key): Request | "kept" | undefined {
    return this.#keys.press(key, this.session.id)
  }

  #show(): void {
    this.#lines.push(...this.#transcript.take())
    this.pager.follow([...this.#transcript.growing(growing), ...this.#transcript.tail])
  }
}
