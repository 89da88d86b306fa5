/** Owns how time passes: a wall clock that jumps, and a machine that sleeps, change no duration, deadline or wait. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Scope } from "effect/Scope"

/** How often the clock looks whether the event loop still turns, in milliseconds. */
const beat = 1_000

/** From which gap between two looks on the machine counts as asleep, in milliseconds. */
const sleepGap = 5_000

/** What one timer of the runtime can wait at most, in milliseconds. */
const longestTimer = 2 ** 31 - 1

/** The clock that is there when nobody provides one. */
const live = Context.get(DefaultServices.liveServices, Clock.Clock)

/** Reads the wall clock for dates, and counts the time that the machine was awake for everything else. */
class MonotonicClock implements Clock.Clock {
  readonly [Clock.ClockTypeId]: Clock.ClockTypeId = Clock.ClockTypeId
  readonly currentTimeMillis = live.currentTimeMillis
  readonly currentTimeNanos = live.currentTimeNanos
  #looked = performance.now()
  #asleep = 0

  unsafeCurrentTimeMillis(): number {
    return live.unsafeCurrentTimeMillis()
  }

  unsafeCurrentTimeNanos(): bigint {
    return live.unsafeCurrentTimeNanos()
  }

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      const cancel = this.#schedule(() => resume(Effect.void), Duration.toMillis(duration))
      return Effect.asVoid(Effect.sync(cancel))
    })
  }

  /** The time awake until now, in milliseconds. Whoever asks first after a gap finds it, so no timer can act before. */
  awake(): number {
    const now = performance.now()
    const gap = now - this.#looked
    if (gap > sleepGap) this.#asleep += gap
    this.#looked = now
    return now - this.#asleep
  }

  #schedule(task: () => void, milliseconds: number): () => boolean {
    const end = this.awake() + milliseconds
    let done = false
    const wait = (left: number) => setTimeout(look, Math.min(left, longestTimer))
    const look = (): void => {
      const left = end - this.awake()
      // Timers are exact to a millisecond.
      if (left >= 1) {
        timer = wait(left)
        return
      }
      done = true
      task()
    }
    let timer = wait(milliseconds)
    return () => {
      clearTimeout(timer)
      return !done
    }
  }
}

const make: Effect.Effect<MonotonicClock, never, Scope> = Effect.acquireRelease(
  Effect.sync(() => {
    const clock = new MonotonicClock()
    const timer = setInterval(() => clock.awake(), beat)
    timer.unref()
    return { clock, timer }
  }),
  ({ timer }) => Effect.sync(() => clearInterval(timer))
).pipe(Effect.map(({ clock }) => clock))

/** Makes all waits and timeouts count the time awake, unless somebody has provided a clock, as tests do. */
export const layer: Layer.Layer<never> = Layer.unwrapScoped(
  Effect.flatMap(
    Effect.clock,
    (present) => present === live ? Effect.map(make, Layer.setClock) : Effect.succeed(Layer.empty)
  )
)

/** Whether real time passes on a clock. */
export const isReal = (clock: Clock.Clock): boolean => clock === live || clock instanceof MonotonicClock

/** The time on a clock that only goes forward, in milliseconds: differences mean something, dates it has none. */
export const elapsed = (clock: Clock.Clock): number =>
  clock instanceof MonotonicClock ? Math.floor(clock.awake()) : steady(clock)

/** The time on a clock that only goes forward and does not pause while this process stands still, in milliseconds. */
export const steady = (clock: Clock.Clock): number => Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)

/** `elapsed` of the clock that is in use. */
export const now: Effect.Effect<number> = Effect.clockWith((clock) => Effect.sync(() => elapsed(clock)))
