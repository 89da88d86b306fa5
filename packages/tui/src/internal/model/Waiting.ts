/** Owns what a person has said that no agent has read yet. */
import { escapeLine } from "../../Escape.ts"
import type { Style } from "../../Style.ts"
import { fit } from "../../Width.ts"

/** The most of them that are shown. */
const most = 4

/** Prompts that are stored and read at the next step, and those that are sent after the turn. */
export class Waiting {
  readonly #steers = new Map<string, string>()
  readonly #queue: Array<string> = []
  /** Messages that were read before it was known that they are stored. */
  readonly #read = new Set<string>()

  /** A prompt was stored for an agent at work, as the message of this id. */
  stored(id: string, text: string): void {
    if (!this.#read.delete(id)) this.#steers.set(id, text)
  }

  /** A message was read. */
  taken(id: string): void {
    if (this.#steers.delete(id)) return
    // It may have got another id: they are read in order.
    const [first] = this.#steers.keys()
    if (first !== undefined && first < id) this.#steers.delete(first)
    else this.#read.add(id)
  }

  /** The turn has ended: nothing of it is unread. */
  ended(): void {
    this.#steers.clear()
    this.#read.clear()
  }

  /** Waits for the end of the turn. */
  queue(text: string): void {
    this.#queue.push(text)
  }

  /** The prompt that is sent next. */
  next(): string | undefined {
    return this.#queue.shift()
  }

  /** Takes the last one back that was queued. */
  withdraw(): string | undefined {
    return this.#queue.pop()
  }

  clear(): void {
    this.#steers.clear()
    this.#queue.length = 0
  }

  lines(columns: number, style: Style): ReadonlyArray<string> {
    const all = [
      ...[...this.#steers.values()].map((text) => `  ↳ read at the next step: ${text}`),
      ...this.#queue.map((text, at) =>
        `  ↳ sent after the turn${at === this.#queue.length - 1 ? " (Up edits it)" : ""}: ${text}`
      )
    ]
    return all.slice(-most).map((line) => style.dim(fit(escapeLine(line.slice(0, 500)), columns - 1)))
  }
}
