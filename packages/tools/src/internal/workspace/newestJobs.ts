/** Runs jobs in the background: for each key one after the other, and of those that wait only the newest. */
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"

/** What runs jobs. */
export interface NewestJobs<Key, Job> {
  /** Runs a job now, or after the one that runs. It replaces one that waits. */
  readonly offer: (key: Key, job: Job) => Effect.Effect<void>
  /** Whether a job waits. */
  readonly hasNewer: (key: Key) => boolean
  /** Waits until no job runs or waits. */
  readonly settled: Effect.Effect<void>
}

/**
 * Makes it. A job gets what the one before it gave, and the first one `initial`. A job that dies is logged, and the next
 * one runs. Jobs are interrupted when the scope closes.
 */
export const makeNewestJobs = <Key, Job, State>(
  initial: State,
  run: (key: Key, job: Job, before: State) => Effect.Effect<State>
): Effect.Effect<NewestJobs<Key, Job>, never, Scope.Scope> =>
  Effect.map(FiberSet.make(), (running) => {
    const waiting = new Map<Key, Job>()
    const active = new Set<Key>()

    const drain = (key: Key, before: State): Effect.Effect<void> =>
      Effect.suspend(() => {
        const job = waiting.get(key)
        if (job === undefined) {
          // In the same moment: from now on, an offer has to start its job.
          active.delete(key)
          return Effect.void
        }
        waiting.delete(key)
        return run(key, job, before).pipe(
          Effect.catchAllDefect((defect) =>
            Effect.as(Effect.logError(`Work in the background for ${String(key)} failed`, defect), initial)
          ),
          Effect.flatMap((after) => drain(key, after))
        )
      })

    return {
      offer: (key, job) =>
        Effect.suspend(() => {
          waiting.set(key, job)
          if (active.has(key)) return Effect.void
          active.add(key)
          return Effect.asVoid(FiberSet.run(running, drain(key, initial)))
        }),
      hasNewer: (key) => waiting.has(key),
      settled: FiberSet.awaitEmpty(running)
    }
  })
