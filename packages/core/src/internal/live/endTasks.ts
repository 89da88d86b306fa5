/** Ends the tasks of a session that is halted or closed, including those that wait for a slot and have no fiber yet. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { RunningTask } from "./Live.ts"

/** Starts those that have not begun: they find that they must not work. */
export const beginTasks = (tasks: Iterable<RunningTask>): Effect.Effect<void> =>
  Effect.suspend(() => Effect.forEach([...tasks], ({ begin }) => begin, { discard: true }))

/** The same, and waits until all have settled. */
export const endTasks = (tasks: Iterable<RunningTask>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const all = [...tasks]
    return Effect.zipRight(
      beginTasks(all),
      Effect.forEach(all, ({ ended }) => Effect.exit(Deferred.await(ended)), { discard: true })
    )
  })
