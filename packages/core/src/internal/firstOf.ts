/** Races two effects: the first to end decides. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"

/**
 * Runs both at the same time and ends as the first of them does. Interrupts the other, or both if it is interrupted
 * itself, and waits for them to end. (`Effect.raceFirst` only waits for that at the end of the fiber, which may run on
 * until then.)
 */
export const firstOf = <A, E, R, A2, E2, R2>(
  one: Effect.Effect<A, E, R>,
  other: Effect.Effect<A2, E2, R2>
): Effect.Effect<A | A2, E | E2, R | R2> =>
  Effect.uninterruptibleMask((restore) =>
    // As exits, their failures are not logged as unhandled.
    Effect.flatMap(Effect.fork(restore(Effect.exit(one))), (left) =>
      Effect.flatMap(Effect.fork(restore(Effect.exit(other))), (right) =>
        restore(
          Effect.async<Exit.Exit<A | A2, E | E2>>((resume) => {
            const end = (exit: Exit.Exit<A | A2, E | E2>) => resume(Effect.succeed(exit))
            left.addObserver((exit) => end(Exit.flatten(exit)))
            right.addObserver((exit) => end(Exit.flatten(exit)))
          })
        ).pipe(
          Effect.ensuring(Effect.suspend(() => {
            // Interrupting a fiber that has ended is not free either.
            const both: ReadonlyArray<Fiber.RuntimeFiber<unknown>> = [left, right]
            const [first, second] = both.filter((fiber) => fiber.unsafePoll() === null)
            if (first === undefined) return Effect.void
            return Effect.asVoid(second === undefined ? Fiber.interrupt(first) : Fiber.interruptAll([first, second]))
          })),
          Effect.flatten
        )))
  )
