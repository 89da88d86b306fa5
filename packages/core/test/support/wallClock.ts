import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** A clock whose wall part can be set, as people and time servers do; time passes as on the clock below it. */
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

/** A clock of a machine that can be suspended: after that, all its clocks are ahead of the waiting timers. */
export const stoppableClock = Effect.map(settableClock, ({ clock: base, jump }) => {
  let stopped = 0n
  const nanos = () => base.unsafeCurrentTimeNanos() + stopped
  const clock: Clock.Clock = { ...base, unsafeCurrentTimeNanos: nanos, currentTimeNanos: Effect.sync(nanos) }
  return {
    clock,
    /** Suspends the machine for this long, in milliseconds. */
    stop: (milliseconds: number) => {
      stopped += BigInt(milliseconds) * 1_000_000n
      jump(milliseconds)
    }
  }
})
