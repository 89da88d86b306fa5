/** Logs a failure that repeats, such as that of each look into a database that is away: once, and then rarely, with a count. */
import { elapsed } from "@skein/core/MonotonicClock"
import * as Effect from "effect/Effect"

/** How often it is logged again while it lasts, in milliseconds. */
const repetition = 30_000

/** One kind of failure. */
interface RepeatedLog {
  /** It has failed: logs that, or counts it. */
  readonly failed: (text: string, detail: string) => Effect.Effect<void>
  /** It has worked: the next failure is logged at once. */
  readonly worked: Effect.Effect<void>
}

/** Makes the log of one kind of failure. */
export const makeRepeatedLog: Effect.Effect<RepeatedLog> = Effect.map(Effect.clock, (clock) => {
  let logged: number | undefined
  let count = 0
  return {
    failed: (text, detail) =>
      Effect.suspend(() => {
        const now = elapsed(clock)
        count++
        if (logged !== undefined && now - logged < repetition) return Effect.void
        const often = logged === undefined ? "" : ` (${count} times since this was last logged)`
        logged = now
        count = 0
        return Effect.logWarning(`${text}${often}`, detail)
      }),
    worked: Effect.sync(() => {
      logged = undefined
      count = 0
    })
  }
})
