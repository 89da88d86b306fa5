/** The clocks of a run: its time limit, and its maximum silence. They pause while a person is asked. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Live } from "../live/Live.ts"

/** How often to check again while a person is asked and nothing is measured, in milliseconds. */
const lookAgain = 1_000

/** The time limits, in milliseconds. */
export interface Times {
  readonly timeout: number
  readonly idle: number
}

/** Whether something runs that need not give signs of life, or others are waited for. */
const isWaiting = (live: Live): boolean =>
  live.clock.isAsking || live.tasks.size > 0 || live.status.type === "retry" || live.status.type === "queued" ||
  live.status.type === "waiting" ||
  (live.messages?.at(-1)?.parts.some((part) => part.type === "tool" && part.state.status === "running") ?? false)

/**
 * Ends when one of a session's clocks has run out, and returns which; that of the time limit runs since `start`
 * (`live.elapsed`).
 */
export const clocks = (live: Live, times: Times, start: number): Effect.Effect<keyof Times> =>
  Effect.suspend(() => {
    const before = live.clock.waited
    live.clock.alive()
    const watch: Effect.Effect<keyof Times> = Effect.suspend(() => {
      const now = live.clock.now()
      const left = times.timeout - (now - start - (live.clock.waited - before))
      if (left <= 0) return Effect.succeed("timeout")
      // The end of a wait is a sign of life: from then on silence is measured again.
      if (isWaiting(live)) live.clock.alive()
      const silence = live.clock.lastAlive + times.idle - now
      if (silence <= 0) return Effect.succeed("idle")
      const pause = Math.min(live.clock.isAsking ? Math.max(left, lookAgain) : left, silence)
      return Effect.zipRight(Effect.sleep(Duration.millis(pause)), watch)
    })
    return watch
  })
