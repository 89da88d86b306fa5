/**
 * A semaphore for any number of callers, which get their permits in the order in which they ask. For each permit that is
 * released, Effect's own wakes every waiting caller: for a thousand, that is a million times, and each takes memory until the
 * caller has its permit.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { none as noFiber } from "effect/FiberId"

/** Makes an effect interruptible again, if its caller is. */
export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Permits, and the callers that wait for one. */
export class FairSemaphore {
  #free: number
  readonly #waiting = new Set<Deferred.Deferred<void>>()

  constructor(permits: number) {
    this.#free = permits
  }

  /** Runs an effect with a permit. */
  readonly withPermit = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.zipRight(this.take(restore), Effect.ensuring(restore(effect), this.release))
    )

  /**
   * Takes a permit, which has to be released. For a region that cannot be interrupted: `restore` makes the waiting
   * interruptible. A permit that is granted in the moment of an interruption goes to the next caller.
   */
  readonly take = (restore: Restore): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (this.#free > 0) {
        this.#free--
        return Effect.void
      }
      const granted = Deferred.unsafeMake<void>(noFiber)
      this.#waiting.add(granted)
      return Effect.onInterrupt(
        restore(Deferred.await(granted)),
        () => this.#waiting.delete(granted) ? Effect.void : this.release
      )
    })

  /** Releases a permit. */
  readonly release: Effect.Effect<void> = Effect.sync(() => {
    for (const next of this.#waiting) {
      this.#waiting.delete(next)
      Deferred.unsafeDone(next, Exit.void)
      return
    }
    this.#free++
  })
}
