/** Owns the size of a session's requests, and from where on they include tool outputs and reasoning. */
import type { MessageID } from "@skein/domain/Id"

/** The length of a request in characters, and the tokens that its model counted for it. */
export interface Measure {
  readonly size: number
  readonly tokens: number
}

/** The size of one session's requests. */
export class RequestSize {
  #measured: Measure | undefined
  #wholeFrom: MessageID | undefined
  #reasonedFrom: MessageID | undefined
  #floor = 0
  #steps = 0
  #charged: MessageID | undefined

  /** The measurement of the last request. */
  get measured(): Measure | undefined {
    return this.#measured
  }

  /** The first message whose tool outputs are sent; undefined if all are. */
  get wholeFrom(): MessageID | undefined {
    return this.#wholeFrom
  }

  /** The first message whose reasoning is sent; undefined if all of it is. */
  get reasonedFrom(): MessageID | undefined {
    return this.#reasonedFrom
  }

  /** The tokens of the last shortened request. */
  get floor(): number {
    return this.#floor
  }

  /** The number of model requests since the session was opened. */
  get steps(): number {
    return this.#steps
  }

  /** The answer whose request was charged here last, even if that could not be stored. */
  get charged(): MessageID | undefined {
    return this.#charged
  }

  /** Notes that the request of an answer was charged; undefined once another one is out. */
  noteCharged(id: MessageID | undefined): void {
    this.#charged = id
  }

  /** Notes what a model counted. */
  measure(measured: Measure): void {
    this.#measured = measured
  }

  /** Leaves out the outputs before this message. */
  sendWholeFrom(id: MessageID): void {
    this.#wholeFrom = id
  }

  /** Leaves out the reasoning before this message: the provider refused it. */
  leaveOutReasoning(before: MessageID): void {
    this.#reasonedFrom = before
  }

  /** Notes the size of a shortened request. */
  shortenedTo(tokens: number): void {
    this.#floor = tokens
  }

  /** Counts a request. */
  countStep(): void {
    this.#steps++
  }
}
