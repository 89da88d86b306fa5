/**
 * Cleans up once a session has read how runs of its tasks ended: no notification repeats it, and disposable sessions
 * are deleted.
 */
import type { RunID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import type { Entry } from "../../Write.ts"
import type { Live } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { removeSession } from "../live/stop.ts"

/**
 * Takes the notifications of runs out of the inbox; returns the writes to store, and how to put the notifications back
 * if that fails.
 */
export const takeNews = (live: Live, runs: ReadonlySet<RunID>, now: number) => {
  const rows = runs.size === 0 ? [] : live.inbox.takeIf(({ runID }) => runID !== undefined && runs.has(runID))
  return {
    writes: rows.map(({ id, sessionID }): Entry => ({ _tag: "InboxTaken", id, sessionID, at: now })),
    putBack: Effect.sync(() => live.inbox.putBack(rows))
  }
}

const isInUse = (parent: Live, child: Live): boolean =>
  child.tasks.claims > 0 || parent.tasks.running.some((task) => task.live === child)

/** Deletes the sessions of disposable tasks. */
export const disposeOf = Effect.fnUntraced(function*(live: Live, runs: Iterable<RunID>) {
  const table = yield* SessionTable
  for (const run of runs) {
    const taskID = live.tasks.takeDisposable(run)
    const child = taskID === undefined ? undefined : table.peek(taskID)
    // A session that is being resumed is kept; a deleted one cannot be found from this moment on.
    if (child === undefined || child.isRemoved || isInUse(live, child)) continue
    child.isRemoved = true
    yield* Effect.catchAll(
      removeSession(child),
      (error) => Effect.logWarning("A task's session could not be removed", error.message)
    )
  }
})
