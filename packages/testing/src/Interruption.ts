/** Interrupts an effect before each of its operations in turn, where a busy scheduler may let its fiber wait. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"

/** More operations than a small effect needs. */
const limit = 1_000

const settle = Effect.repeatN(Effect.yieldNow(), 20)

/** Runs an effect that waits before its n-th operation and is interrupted there; false if it got past all of them. */
const interruptAt = <A, E>(effect: Effect.Effect<A, E>, n: number): Effect.Effect<boolean> =>
  Effect.gen(function*() {
    let left = n
    let isDue = false
    let goOn: (() => void) | undefined
    let own: object | undefined
    const scheduler = Scheduler.make(
      (task, priority) => {
        if (!isDue) return Scheduler.defaultScheduler.scheduleTask(task, priority)
        isDue = false
        goOn = task
      },
      (fiber) => {
        own ??= fiber
        // What it starts runs on.
        if (fiber !== own || left-- > 0 || goOn !== undefined) return false
        isDue = true
        return 0
      }
    )
    const fiber = yield* Effect.fork(Effect.withScheduler(effect, scheduler))
    yield* settle
    yield* Effect.fiberIdWith((id) => Fiber.interruptAsFork(fiber, id))
    const waiting = goOn
    waiting?.()
    yield* Fiber.await(fiber)
    return waiting !== undefined
  })

/**
 * Runs an effect anew for each of its operations, and interrupts it before that operation. Calls `check` after each time, with
 * the number of the operation. It ends where the effect waits, or has ended.
 */
export const interruptEverywhere = <A, E, E2, R2>(
  effect: Effect.Effect<A, E>,
  check: (n: number) => Effect.Effect<void, E2, R2>
): Effect.Effect<number, E2, R2> => {
  const from = (n: number): Effect.Effect<number, E2, R2> =>
    Effect.flatMap(
      interruptAt(effect, n),
      (wasCut) => Effect.zipRight(check(n), wasCut && n < limit ? from(n + 1) : Effect.succeed(n))
    )
  return from(0)
}
