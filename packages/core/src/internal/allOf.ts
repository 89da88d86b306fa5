/** Runs effects in parallel, each in a fiber of its own. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"

/** Done as soon as all fibers have ended, or one of them with a failure. */
const settled = <A, E>(fibers: ReadonlyArray<Fiber.RuntimeFiber<Exit.Exit<A, E>>>): Effect.Effect<void> =>
  Effect.async((resume) => {
    let open = fibers.length
    for (const fiber of fibers) {
      fiber.addObserver((exit) => {
        open--
        if (open === 0 || Exit.isFailure(Exit.flatten(exit))) resume(Effect.void)
      })
    }
  })

/**
 * Runs all of them at the same time, and returns their results in order. The first failure, or an interruption,
 * interrupts the others and waits for them to end. `Effect.forEach` does the same, and its fibers keep more: thousands
 * of calls may wait in these.
 */
export const allOf = <A, E, R>(effects: ReadonlyArray<Effect.Effect<A, E, R>>): Effect.Effect<Array<A>, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    // As exits, their failures are not logged as unhandled.
    Effect.flatMap(Effect.forEach(effects, (effect) => Effect.fork(restore(Effect.exit(effect)))), (fibers) =>
      fibers.length === 0 ? Effect.succeed([]) : restore(settled(fibers)).pipe(
        Effect.ensuring(Effect.suspend(() => {
          const open = fibers.filter((fiber) =>
            fiber.unsafePoll() === null
          )
          return open.length === 0 ? Effect.void : Fiber.interruptAll(open)
        })),
        Effect.zipRight(Effect.suspend(() => {
          const exits = fibers.flatMap((fiber) => {
            const exit = fiber.unsafePoll()
            return exit === null ? [] : [Exit.flatten(exit)]
          })
          return Option.getOrElse(Exit.all(exits, { parallel: true }), () => Exit.succeed([]))
        }))
      ))
  )
