/** Owns the timeouts of runs that wait for a slot: one fiber for all of them. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import { elapsed } from "../../MonotonicClock.ts"

/** Calls back at given times. */
export class Alarms extends Context.Tag("@skein/core/internal/tasks/Alarms")<Alarms, {
  /** Rings once at this time, in milliseconds of `MonotonicClock.elapsed`; returns how to cancel it. */
  readonly set: (at: number, ring: () => void) => () => void
}>() {
  /** Alarms that end with the layer. */
  static readonly layer = Layer.scoped(
    Alarms,
    Effect.gen(function*() {
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
          return () => {
            if (due.delete(ring) && due.size === 0) sleepUntil(Number.POSITIVE_INFINITY)
          }
        }
      }
    })
  )
}
