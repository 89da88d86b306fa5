/** Gives a call up once nothing came from its server for a time; while a person is asked, that time does not run. */
import * as MonotonicClock from "@skein/core/MonotonicClock"
import * as Effect from "effect/Effect"

/** Makes the watch of a call; limits are in milliseconds. */
export const makeSilence = Effect.fnUntraced(function*(first: number) {
  const clock = yield* Effect.clock
  let limit = first
  let last = MonotonicClock.elapsed(clock)
  let asking = 0
  const watch: Effect.Effect<never, string> = Effect.suspend(() => {
    const left = asking > 0 ? limit : limit - (MonotonicClock.elapsed(clock) - last)
    return left > 0
      ? Effect.zipRight(Effect.sleep(left), watch)
      : Effect.fail(`nothing came for ${limit / 1000} s`)
  })
  const heard = () => {
    last = MonotonicClock.elapsed(clock)
  }
  return {
    watch,
    heard,
    /** From now on, another limit holds. */
    allow: (next: number) => {
      limit = next
      heard()
    },
    paused: <A>(effect: Effect.Effect<A>): Effect.Effect<A> =>
      Effect.acquireUseRelease(
        Effect.sync(() => void asking++),
        () => effect,
        () =>
          Effect.sync(() => {
            asking--
            heard()
          })
      )
  }
})
