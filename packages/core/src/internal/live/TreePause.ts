/** Owns whether the loops of a tree pause between two steps, so that the tree can move to another process. */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"

/** The pause of a tree. */
export class TreePause {
  #over: Effect.Latch | undefined
  /** How many operations want the pause. */
  #count = 0
  #left: Effect.Latch | undefined
  readonly #paused = new Set<SessionID>()

  /** From now on, loops pause before their next step. */
  begin(): void {
    this.#count++
    this.#over ??= Effect.unsafeMakeLatch(false)
  }

  /** The loops continue, unless another operation wants the pause. */
  readonly end: Effect.Effect<void> = Effect.suspend(() => {
    if (--this.#count > 0) return Effect.void
    const over = this.#over
    this.#over = undefined
    return over === undefined ? Effect.void : Effect.asVoid(over.open)
  })

  /** Whether the loop of a session pauses now. */
  has(id: SessionID): boolean {
    return this.#paused.has(id)
  }

  /**
   * To be called between two steps: waits while there is a pause. The agent keeps its slot, so that its place does not go to
   * another agent of the tree, which would begin only to pause as well.
   */
  between(id: SessionID): Effect.Effect<void> {
    return Effect.suspend(() => {
      const over = this.#over
      if (over === undefined) return Effect.void
      return Effect.acquireUseRelease(
        Effect.sync(() => this.#paused.add(id)),
        () => over.await,
        () => Effect.sync(() => this.#paused.delete(id))
      )
    })
  }

  /** This process leaves the tree: from now on no effect of a call begins. */
  leave(): void {
    this.#left ??= Effect.unsafeMakeLatch(false)
  }

  /** It has left, or could not. */
  readonly stay: Effect.Effect<void> = Effect.suspend(() => {
    const left = this.#left
    this.#left = undefined
    return left === undefined ? Effect.void : Effect.asVoid(left.open)
  })

  /** What the effect of a call must wait for before it begins; undefined if it may begin now. */
  get barrier(): Effect.Effect<void> | undefined {
    return this.#left?.await
  }
}
