/** The clock of a run: it stands still while a person is asked. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { type Live, waitedForPeople } from "../session/live.ts"

/** While a person is asked there is nothing to measure: look again now and then, in milliseconds. */
const lookAgain = 1_000

/** Ends when a session has worked for longer than a limit, in milliseconds. */
export const deadline = (live: Live, limit: number): Effect.Effect<void> =>
  Effect.clockWith((clock) => {
    const start = clock.unsafeCurrentTimeMillis()
    const before = waitedForPeople(live, start)
    const watch: Effect.Effect<void> = Effect.suspend(() => {
      const now = clock.unsafeCurrentTimeMillis()
      const left = limit - (now - start - (waitedForPeople(live, now) - before))
      if (left <= 0) return Effect.void
      const pause = live.person.waiting > 0 ? Math.max(left, lookAgain) : left
      return Effect.zipRight(Effect.sleep(Duration.millis(pause)), watch)
    })
    return watch
  })
