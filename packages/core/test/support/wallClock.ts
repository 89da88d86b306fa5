import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** A clock whose wall part can be set, as people and time servers do; time passes on it as on the clock below it. */
export const settableClock = Effect.map(Effect.clock, (base) => {
  let ahead = 0
  const wall = () => base.unsafeCurrentTimeMillis() + ahead
  const clock: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: wall,
    unsafeCurrentTimeNanos: () => base.unsafeCurrentTimeNanos(),
    currentTimeMillis: Effect.sync(wall),
    currentTimeNanos: base.currentTimeNanos,
    sleep: (duration) => base.sleep(duration)
  }
  return {
    clock,
    /** Sets the wall clock forward, or back. */
    jump: (milliseconds: number) => {
      ahead += milliseconds
    }
  }
})
