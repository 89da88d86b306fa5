/** Owns which mode is shown: the one that was asked for last, until the session has it. */
import type { Mode } from "@skein/domain/Mode"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { Facts } from "./Facts.ts"

const round = ["plan", "ask", "edits"] as const

/** The mode that is shown. */
export class ShownMode {
  readonly #facts: Facts
  /** How many changes were asked for, and have not ended. */
  #changes = 0
  #stored: Mode

  constructor(facts: Facts) {
    this.#facts = facts
    this.#stored = facts.mode
  }

  /** The mode after the one that is shown. */
  get next(): Mode {
    return round[(round.findIndex((mode) => mode === this.#facts.mode) + 1) % round.length] ?? "ask"
  }

  /** A mode was asked for. */
  ask(mode: Mode): void {
    this.#changes++
    this.#facts.mode = mode
  }

  /** A change has ended. Where it failed, the mode that the session has is shown again. */
  settle(): void {
    this.#changes--
    if (this.#changes === 0) this.#facts.mode = this.#stored
  }

  /** The session has this mode. */
  learn({ agent, mode }: Pick<SessionInfo, "agent" | "mode">): void {
    this.keep(mode ?? (agent === "plan" ? "plan" : "ask"))
  }

  /** The session has this mode, or the next one will have it. */
  keep(mode: Mode): void {
    this.#stored = mode
    if (this.#changes === 0) this.#facts.mode = mode
  }
}
