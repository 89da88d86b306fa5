/** Measures an answer as it arrives, and says when it exceeds its bounds. */
import type { AnswerBounds } from "@skein/domain/ConfigInfo"
import { isTextNested } from "./Nesting.ts"
import type { ModelEvent } from "./Provider.ts"

/** The maximum length of one event of a stream, in characters: a whole answer, escaped, and its envelope. */
export const longestEvent = (bounds: AnswerBounds): number => 4 * (bounds.text + bounds.arguments) + 1_000_000

/** The message for a longer event. */
export const tooLongEvent = (bounds: AnswerBounds): string =>
  `an event of more than ${longestEvent(bounds)} characters (limits.answer)`

/** Counts what an answer holds. */
export class AnswerMeter {
  readonly #bounds: AnswerBounds
  #calls = 0
  #text = 0
  #arguments = 0
  /** What exceeds the bounds, for a message; undefined while the answer is within them. */
  excess: string | undefined

  constructor(bounds: AnswerBounds) {
    this.#bounds = bounds
  }

  /** Counts an event of a model. */
  take(event: ModelEvent): void {
    if (event.type === "text-delta" || event.type === "reasoning-delta") this.text(event.delta)
    else if (event.type === "tool-call") {
      this.call()
      this.arguments(event.input)
      if (isTextNested(event.input, this.#bounds.nesting)) {
        this.#exceed(`arguments that are nested more than ${this.#bounds.nesting} levels deep`, "nesting")
      }
    }
  }

  /** Counts text, or reasoning. */
  text(piece: string): void {
    this.#text += piece.length
    if (this.#text > this.#bounds.text) this.#exceed(`more than ${this.#bounds.text} characters of text`, "text")
  }

  /** Counts a call. */
  call(): void {
    this.#calls++
    if (this.#calls > this.#bounds.calls) this.#exceed(`more than ${this.#bounds.calls} calls`, "calls")
  }

  /** Counts a piece of a call's arguments. */
  arguments(piece: string): void {
    this.#arguments += piece.length
    if (this.#arguments > this.#bounds.arguments) {
      this.#exceed(`more than ${this.#bounds.arguments} characters of arguments`, "arguments")
    }
  }

  #exceed(what: string, bound: keyof AnswerBounds): void {
    this.excess ??= `${what} (limits.answer.${bound})`
  }
}
