/** A wall clock that was set. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** A clock with another date, on which time passes as on the given one. */
export const setBy = (clock: Clock.Clock, milliseconds: number): Clock.Clock => {
  const now = () => clock.unsafeCurrentTimeMillis() + milliseconds
  return {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: now,
    unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos(),
    currentTimeMillis: Effect.sync(now),
    currentTimeNanos: clock.currentTimeNanos,
    sleep: (duration) => clock.sleep(duration)
  }
}
