/** Takes requests in that store something: in the order in which they come, and only so many at once. */
import { FairSemaphore } from "@skein/core/FairSemaphore"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

/** How many are taken in at once: enough to keep the storage busy. */
const most = 16

/** A request that takes longer waits for something else, such as a hook or another server. It does not count any more. */
const patience = "5 seconds"

/**
 * Requests stay in until they end. If a thousand of them were at work at once, each would end last, and later than its client
 * waits. Then all of that work would be for nothing.
 */
export class Intake {
  readonly #free = new FairSemaphore(most)

  /** Runs an effect once it is in. */
  readonly enter = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(this, function*() {
        yield* this.#free.take(restore)
        let isIn = true
        const leave = Effect.suspend(() => {
          if (!isIn) return Effect.void
          isIn = false
          return this.#free.release
        })
        const late = yield* Effect.fork(Effect.interruptible(Effect.zipRight(Effect.sleep(patience), leave)))
        return yield* Effect.ensuring(restore(effect), Effect.zipRight(Fiber.interruptFork(late), leave))
      })
    )
}
