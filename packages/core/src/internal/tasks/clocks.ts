/** The clocks of a run: how long it may take, and how long it may be silent. They stand still while a person is asked. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Live } from "../live/Live.ts"

/** While a person is asked there is nothing to measure: look again now and then, in milliseconds. */
const lookAgain = 1_000

/** How much time there is, in milliseconds. */
export interface Times {
  readonly timeout: number
  readonly idle: number
}

/** Whether something goes on that need not give signs of life, or somebody else is waited for. */
const isWaiting = (live: Live): boolean =>
  live.clock.isAsking || live.tasks.size > 0 || live.status.type === "retry" || live.status.type === "queued" ||
  live.status.type === "waiting" ||
  (live.messages?.at(-1)?.parts.some((part) => part.type === "tool" && part.state.status === "running") ?? false)

/** Ends when one of the clocks of a session has run out, and says which; the one of the whole time runs since `start` (`live.elapsed`). */
export const clocks = (live: Live, times: Times, start: number): Effect.Effect<keyof Times> =>
  Effect.suspend(() => {
    const before = live.clock.waited
    live.clock.alive()
    const watch: Effect.Effect<keyof Times> = Effect.suspend(() => {
      const now = live.clock.now()
      const left = times.timeout - (now - start - (live.clock.waited - before))
      if (left <= 0) return Effect.succeed("timeout")
      // What ends a wait is itself a sign of life: from then on silence is measured again.
      if (isWaiting(live)) live.clock.alive()
      const silence = live.clock.lastAlive + times.idle - now
      if (silence <= 0) return Effect.succeed("idle")
      const pause = Math.min(live.clock.isAsking ? Math.max(left, lookAgain) : left, silence)
      return Effect.zipRight(Effect.sleep(Duration.millis(pause)), watch)
    })
    return watch
  })
