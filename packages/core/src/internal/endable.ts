/** Runs an effect that a callback may end early. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"

/**
 * Runs an effect until it ends, or until `watch` calls its callback, whichever comes first. `watch` returns a function
 * that stops watching. If the callback came first, the effect is interrupted and awaited.
 */
export const endable = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  watch: (end: (exit: Exit.Exit<A, E>) => void) => () => void
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    // As an exit, its failure is not logged as unhandled.
    Effect.flatMap(Effect.fork(restore(Effect.exit(effect))), (fiber) => {
      let stop = () => {}
      return restore(Effect.async<Exit.Exit<A, E>>((resume) => {
        const end = (exit: Exit.Exit<A, E>) => resume(Effect.succeed(exit))
        fiber.addObserver((exit) => end(Exit.flatten(exit)))
        stop = watch(end)
      })).pipe(
        Effect.ensuring(Effect.suspend(() => {
          stop()
          // Interrupting a fiber that has ended is not free.
          return fiber.unsafePoll() === null ? Effect.asVoid(Fiber.interrupt(fiber)) : Effect.void
        })),
        Effect.flatten
      )
    })
  )
