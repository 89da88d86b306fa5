/**
 * Owns what a session knows of its requests: their size, from where on they include tool outputs and reasoning, and which of
 * them this process has made.
 */
import type { MessageID, PartID } from "@skein/domain/Id"

/** The length of a request in characters, and the tokens that its model counted for it. */
export interface Measure {
  readonly size: number
  readonly tokens: number
}

/** The requests of one session. */
export class RequestSize {
  #measured: Measure | undefined
  #wholeFrom: MessageID | undefined
  #reasonedFrom: MessageID | undefined
  #floor = 0
  #steps = 0
  #charged: MessageID | undefined
  readonly #own = new Set<MessageID | PartID>()

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

  /** Whether this process has made an open request, and so charges it; a dead process has made all others. */
  isOwn(id: MessageID | PartID): boolean {
    return this.#own.has(id)
  }

  /** Notes that a request is made here. */
  open(id: MessageID | PartID): void {
    this.#own.add(id)
  }

  /** Notes that the end of a request is stored. */
  close(id: MessageID | PartID): void {
    this.#own.delete(id)
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
