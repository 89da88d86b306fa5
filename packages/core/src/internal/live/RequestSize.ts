/** Owns what is known of the size of a session's requests, and from where on its outputs are sent. */
import type { MessageID } from "@skein/domain/Id"

/** How long a request was, in characters, and how many tokens its model counted for it. */
export interface Measure {
  readonly size: number
  readonly tokens: number
}

/** The size of one session's requests. */
export class RequestSize {
  #measured: Measure | undefined
  #wholeFrom: MessageID | undefined
  #floor = 0
  #steps = 0

  /** What the last request measured. */
  get measured(): Measure | undefined {
    return this.#measured
  }

  /** The first message whose outputs of tools are sent; undefined where all are. */
  get wholeFrom(): MessageID | undefined {
    return this.#wholeFrom
  }

  /** How many tokens the last request had that was shortened. */
  get floor(): number {
    return this.#floor
  }

  /** How many model requests there were since the session was opened. */
  get steps(): number {
    return this.#steps
  }

  /** Notes what a model counted. */
  measure(measured: Measure): void {
    this.#measured = measured
  }

  /** Leaves out the outputs before this message. */
  sendWholeFrom(id: MessageID): void {
    this.#wholeFrom = id
  }

  /** Notes the size of a request that was shortened. */
  shortenedTo(tokens: number): void {
    this.#floor = tokens
  }

  /** Counts a request. */
  countStep(): void {
    this.#steps++
  }
}
