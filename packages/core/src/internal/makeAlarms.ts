/** Makes alarms that share one sleeping fiber. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import { elapsed } from "../MonotonicClock.ts"

/** Calls back once at this time, in milliseconds of `MonotonicClock.elapsed`; returns a function that cancels it. */
export type Alarm = (at: number, ring: () => void) => () => void

/** Makes alarms that end with the scope. */
export const makeAlarms: Effect.Effect<{ readonly set: Alarm }, never, Scope.Scope> = Effect.gen(function*() {
  const clock = yield* Effect.clock
  const scope = yield* Effect.scope
  const runtime = yield* Effect.runtime<never>()
  const fork = (effect: Effect.Effect<void>) => Runtime.runFork(runtime)(effect, { scope })
  const due = new Map<() => void, number>()
  let next = Number.POSITIVE_INFINITY
  let sleeper: Fiber.RuntimeFiber<void> | undefined

  const sleepUntil = (at: number): void => {
    const before = sleeper
    next = at
    const rest = Effect.suspend(() => Effect.sleep(Math.max(0, at - elapsed(clock))))
    sleeper = Number.isFinite(at) ? fork(Effect.zipRight(rest, Effect.sync(wake))) : undefined
    if (before !== undefined) fork(Effect.asVoid(Fiber.interrupt(before)))
  }

  const wake = (): void => {
    const now = elapsed(clock)
    sleeper = undefined
    let nearest = Number.POSITIVE_INFINITY
    for (const [ring, at] of due) {
      if (at > now) nearest = Math.min(nearest, at)
      else {
        due.delete(ring)
        ring()
      }
    }
    sleepUntil(nearest)
  }

  return {
    set: (at, ring) => {
      due.set(ring, at)
      if (at < next) sleepUntil(at)
      // The sleeping fiber is not interrupted: an extra wake-up costs less.
      return () => void due.delete(ring)
    }
  }
})
