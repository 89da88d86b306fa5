/** Owns what the tries of one request use, one after the other: what is reserved, what arrives, and what is charged. */
import type { Reserved, Usage } from "@skein/domain/Usage"
import { isContent, type ModelEvent } from "../../Provider.ts"
import { type Reported, usedBy } from "../live/charge.ts"

/** The use of one request. */
export class TryUse {
  #reserved: Reserved | undefined
  #reported: Reported | undefined
  #isConnected = false
  #hasAnswered = false
  #isWhole = false
  /** How many pieces of calls have arrived, until the calls are there themselves. */
  #pieces = 0

  /** A try is about to be sent. */
  begin(reserved: Reserved): void {
    this.#reserved = reserved
    this.#reported = undefined
    this.#isConnected = false
    this.#hasAnswered = false
    this.#isWhole = false
    this.#pieces = 0
  }

  /** Takes an event of it in. */
  hear(event: ModelEvent): void {
    this.#isConnected = true
    this.#hasAnswered ||= event.type === "usage" || isContent(event)
    if (event.type === "activity") this.#pieces++
    if (event.type === "tool-call") this.#pieces = 0
    if (event.type === "finish") this.#isWhole = true
    if (event.type !== "finish" && event.type !== "usage") return
    const { cost, tokens } = event
    this.#reported = tokens === undefined ? undefined : { tokens, cost }
  }

  /**
   * Ends the try that is out; returns what it has used. That is nothing if a status refused it before it was answered,
   * or if the server was never reached. `said` are the tokens of what has arrived.
   */
  end(said: () => number, status?: number): Pick<Usage, "cost" | "estimated" | "tokens"> | undefined {
    const reserved = this.#reserved
    this.#reserved = undefined
    const isRefused = status !== undefined && status >= 300 && !this.#hasAnswered
    if (reserved === undefined || isRefused || !this.#isConnected) return undefined
    return usedBy(reserved, this.#reported, said() + this.#pieces, this.#isWhole)
  }
}
