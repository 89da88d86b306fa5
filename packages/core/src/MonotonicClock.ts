/** Owns how time passes: setting the wall clock or suspending the machine changes no duration, deadline or wait. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { unsafeCoerce } from "effect/Function"
import * as Layer from "effect/Layer"
import type { Scope } from "effect/Scope"

/** How often to check that the event loop still runs, in milliseconds. */
const beat = 1_000

/** The gap between two checks from which the machine counts as suspended, in milliseconds. */
const sleepGap = 5_000

/** The longest wait of one timer, in milliseconds. */
const longestTimer = 2 ** 31 - 1

/** The clock that exists if nobody provides one. */
const live = Context.get(DefaultServices.liveServices, Clock.Clock)

/** Reads the wall clock for dates, and counts the time awake for everything else. */
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

  /** The time awake so far, in milliseconds. The first caller after a gap detects it, so no timer can act before. */
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

/** Makes all waits and timeouts count the time awake, unless a clock was provided, as in tests. */
export const layer: Layer.Layer<never> = Layer.unwrapScoped(
  Effect.flatMap(
    Effect.clock,
    (present) => present === live ? Effect.map(make, Layer.setClock) : Effect.succeed(Layer.empty)
  )
)

/** Whether a clock follows real time. */
export const isReal = (clock: Clock.Clock): boolean => clock === live || clock instanceof MonotonicClock

/** The time on a clock that only moves forward, in milliseconds. Use it for differences, never for dates. */
export const elapsed = (clock: Clock.Clock): number =>
  clock instanceof MonotonicClock ? Math.floor(clock.awake()) : steady(clock)

/** The time on a clock that only moves forward and does not pause while this process is suspended, in milliseconds. */
export const steady = (clock: Clock.Clock): number => Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)

/** `elapsed` of the current clock. */
export const now: Effect.Effect<number> = Effect.clockWith((clock) => Effect.sync(() => elapsed(clock)))

declare const measuredBy: unique symbol

/**
 * A moment on one clock: `awake` counts while the machine is awake, `steady` always, and `wall` is the date, which can be set.
 * Its type hides the number: `between` alone measures a duration, of two moments on the same clock, so that no patience is
 * measured on the wrong one.
 */
export interface Moment<Which extends "awake" | "steady" | "wall"> {
  readonly [measuredBy]: (clock: Which) => Which
}
/** The time of a clock that counts while the machine is awake. */
export type AwakeTime = Moment<"awake">
/** The time of a clock that never stands still. */
export type SteadyTime = Moment<"steady">
/** A date. */
export type WallTime = Moment<"wall">

/** `elapsed` as a moment. */
export const awakeTime = (clock: Clock.Clock): AwakeTime => unsafeCoerce(elapsed(clock))

/** `steady` as a moment. */
export const steadyTime = (clock: Clock.Clock): SteadyTime => unsafeCoerce(steady(clock))

/** The date as a moment. */
export const wallTime = (clock: Clock.Clock): WallTime => unsafeCoerce(clock.unsafeCurrentTimeMillis())

/** How much time has passed from one moment to another on the same clock, in milliseconds; negative if the second is earlier. */
export const between = <Which extends "awake" | "steady" | "wall">(from: Moment<Which>, to: Moment<Which>): number =>
  unsafeCoerce<Moment<Which>, number>(to) - unsafeCoerce<Moment<Which>, number>(from)

/** The moment so many milliseconds later on the same clock. */
export const later = <Which extends "awake" | "steady" | "wall">(
  from: Moment<Which>,
  milliseconds: number
): Moment<Which> => unsafeCoerce(unsafeCoerce<Moment<Which>, number>(from) + milliseconds)
