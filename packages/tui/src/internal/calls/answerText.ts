/** Gathers the root agent's text as it streams: complete lines to print permanently, and the line that still grows. */
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { Part } from "@skein/domain/Part"
import { escapeWords } from "../../Escape.ts"

/** Stands behind an answer that failed and is tried again. */
export const brokeOff = "[the answer broke off here, and begins again]"

/** Stands behind an answer that was interrupted: what follows is another one. */
export const cutOff = "[the answer was cut off here]"

/** The words of one session. */
export class AnswerText {
  readonly #sessionID: SessionID
  #message: string | undefined
  /** Whether that message is complete: what fails after it is another one. */
  #isComplete = false
  /** The texts of the message before the present part. */
  #texts: Array<string> = []
  #part: string | undefined
  #text = ""
  #printed = 0
  #lines: Array<string> = []
  /** Whether anything was printed before the present part. */
  #before = false
  /** The messages of models, and the parts of them that are printed. */
  readonly #answers = new Set<string>()
  readonly #ended = new Set<string>()
  /** The messages that were interrupted, and whether that is printed. */
  readonly #cut = new Map<string, boolean>()
  /** The parts whose text has begun. */
  readonly #begun = new Set<string>()

  constructor(sessionID: SessionID) {
    this.#sessionID = sessionID
  }

  /** Takes an event in; says whether there is anything new. */
  see(event: Event): boolean {
    if (event.sessionID !== this.#sessionID) return false
    if (event.type === "message.part.delta" && event.properties.field === "text") {
      this.#begin(event.properties.messageID, event.properties.partID)
      this.#text += event.properties.delta
      return true
    }
    if (event.type === "session.status" && event.properties.status.type === "retry") return this.#restart()
    if (event.type === "message.updated") {
      const { info } = event.properties
      const { id, time } = info
      if (info.role === "assistant") {
        this.#answers.add(id)
        const isCut = info.error?.tag === "interrupted" || info.error?.tag === "died"
        if (isCut && !this.#cut.has(id)) this.#cut.set(id, false)
        if (id === this.#message && this.#text !== "" && this.#markCut(id)) return true
      }
      if (id === this.#message && "completed" in time) this.#isComplete = time.completed !== undefined
      return false
    }
    return event.type === "message.part.updated" && this.#whole(event.properties.part)
  }

  /** A part as it is stored: it may hold more than the pieces that came. */
  #whole(part: Part): boolean {
    if (part.type !== "text" || !this.#answers.has(part.messageID)) return false
    if (part.text === "" || this.#ended.has(part.id)) return false
    const isCut = this.#cut.has(part.messageID)
    if (part.time?.end === undefined && !isCut) return this.#grown(part.messageID, part.id, part.text)
    this.#ended.add(part.id)
    // The part after it has begun, so all of it is printed already.
    if (part.id !== this.#part && this.#begun.has(part.id)) return false
    this.#begin(part.messageID, part.id)
    // Pieces may have been missed.
    if (this.#printed === 0 || part.text.startsWith(this.#text)) this.#text = part.text
    const isNew = this.#end()
    return this.#markCut(part.messageID) || isNew
  }

  /** Says behind the words of an interrupted message that it has no end; once. */
  #markCut(message: string): boolean {
    if (this.#cut.get(message) !== false) return false
    this.#cut.set(message, true)
    this.#end()
    this.#lines.push(cutOff)
    this.#before = true
    return true
  }

  /** Whether an event ends the part that was written last: no more of it follows. */
  isEnd(event: Event): boolean {
    if (event.type !== "message.part.updated") return false
    const { part } = event.properties
    return part.type === "text" && part.time?.end !== undefined && part.id === this.#part
  }

  /** The present text of a part, for a reader that joins in the middle and missed its beginning. */
  #grown(message: string, id: string, text: string): boolean {
    if (id !== this.#part && this.#begun.has(id)) return false
    this.#begin(message, id)
    if (text.length <= this.#text.length || !text.startsWith(this.#text.slice(0, this.#printed))) return false
    this.#text = text
    return true
  }

  /** What follows stands apart already: no blank line is needed before it. */
  apart(): void {
    this.#before = false
  }

  /** All that was written of the last message, as `Turn.text` has it. */
  get message(): string {
    return [...this.#texts, this.#text].map((text) => text.trim()).filter((text) => text !== "").join("\n\n")
  }

  /** The lines that are complete, once. */
  take(): ReadonlyArray<string> {
    const end = this.#text.lastIndexOf("\n") + 1
    if (end > this.#printed) this.#print(end)
    const lines = this.#lines
    this.#lines = []
    return lines
  }

  /** What there is of the line that grows. */
  get growing(): string {
    return escapeWords(this.#text.slice(Math.max(this.#printed, this.#text.lastIndexOf("\n") + 1)))
  }

  /** Everything that is left, once. */
  finish(): ReadonlyArray<string> {
    this.#end()
    return this.take()
  }

  #begin(message: string, part: string): void {
    if (part === this.#part) return
    this.#end()
    this.#texts = message === this.#message ? [...this.#texts, this.#text] : []
    if (message !== this.#message) this.#isComplete = false
    this.#message = message
    this.#part = part
    this.#begun.add(part)
    this.#text = ""
    this.#printed = 0
    if (this.#before) this.#lines.push("")
    this.#before = false
  }

  #end(): boolean {
    if (this.#printed >= this.#text.length) return false
    this.#print(this.#text.length)
    return true
  }

  /** A try failed: what it said will be said again. */
  #restart(): boolean {
    if (this.#text === "" || this.#isComplete) return false
    if (this.#printed > 0) this.#lines.push(brokeOff)
    this.#before = false
    this.#begun.clear()
    this.#part = undefined
    this.#texts = []
    this.#message = undefined
    this.#text = ""
    this.#printed = 0
    return true
  }

  #print(end: number): void {
    this.#lines.push(...escapeWords(this.#text.slice(this.#printed, end)).replace(/\n$/, "").split("\n"))
    this.#printed = end
    this.#before = true
  }
}
