/** Ends the tasks of a session that is halted or closed, also those that wait for a slot and have no fiber yet. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { Live } from "./live.ts"

/** Lets those begin that have not: they find that they must not work. */
export const beginTasks = (live: Live): Effect.Effect<void> =>
  Effect.suspend(() => Effect.forEach([...live.tasks], ({ begin }) => begin, { discard: true }))

/** The same, and waits until all have settled. */
export const endTasks = (live: Live): Effect.Effect<void> =>
  Effect.suspend(() => {
    const all = [...live.tasks]
    return Effect.zipRight(
      beginTasks(live),
      Effect.forEach(all, ({ ended }) => Effect.exit(Deferred.await(ended)), { discard: true })
    )
  })
