/** Owns whether the summary of a session must be renewed, and the fiber that does so. */
import type * as Fiber from "effect/Fiber"

/** The summary of one session. */
export class SummaryState {
  #changes = 0
  #renewal: Fiber.Fiber<void> | undefined

  /** Whether calls have changed files since a summary last began, at all levels; known at the root. */
  get isStale(): boolean {
    return this.#changes > 0
  }

  /** Counts a call that has changed files. */
  countChange(): void {
    this.#changes++
  }

  /** The fiber that renews the summary after the last turn that changed files. */
  get renewal(): Fiber.Fiber<void> | undefined {
    return this.#renewal
  }

  /** A summary begins that covers all changes so far. */
  begin(): void {
    this.#changes = 0
  }

  /** Notes the fiber that writes it. */
  renewedBy(fiber: Fiber.Fiber<void>): void {
    this.#renewal = fiber
  }
}
