/** Ends the tasks of a session that is halted or closed, also those that wait for a slot and have no fiber yet. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { Live } from "./live.ts"

/** Lets those begin that have not, which then find that they must not work, and waits until all have settled. */
export const endTasks = (live: Live): Effect.Effect<void> =>
  Effect.suspend(() => {
    const all = [...live.tasks]
    return Effect.zipRight(
      Effect.forEach(all, ({ begin }) => begin, { discard: true }),
      Effect.forEach(all, ({ ended }) => Effect.exit(Deferred.await(ended)), { discard: true })
    )
  })
