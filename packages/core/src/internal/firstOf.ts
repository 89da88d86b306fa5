/** Two effects of which the first to end decides. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { forkAwaited } from "./forkAwaited.ts"

/**
 * Runs both at the same time and ends as the first of them does. The other is interrupted, and both are when this is; they
 * have ended by then. (`Effect.raceFirst` leaves that to the end of the fiber, which may have more to do until then.)
 */
export const firstOf = <A, E, R, A2, E2, R2>(
  one: Effect.Effect<A, E, R>,
  other: Effect.Effect<A2, E2, R2>
): Effect.Effect<A | A2, E | E2, R | R2> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      forkAwaited(Effect.zip(Effect.fork(restore(one)), Effect.fork(restore(other)))),
      ([left, right]) =>
        restore(
          Effect.async<Exit.Exit<A | A2, E | E2>>((resume) => {
            const end = (exit: Exit.Exit<A | A2, E | E2>) => resume(Effect.succeed(exit))
            left.addObserver(end)
            right.addObserver(end)
          })
        ).pipe(
          Effect.ensuring(Fiber.interruptAll([left, right])),
          Effect.flatten
        )
    )
  )
