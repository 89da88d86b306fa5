/** What follows when a session has been told how runs of its tasks ended: nobody tells it again, and what was kept for that goes. */
import type { RunID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import type { Entry } from "../../JournalEntry.ts"
import type { Live } from "../live/Live.ts"
import { removeSession } from "../live/removeSession.ts"
import { SessionTable } from "../live/SessionTable.ts"

/** Takes the news of runs out of the inbox; gives the changes to be stored, and what puts the news back where they are not. */
export const takeNews = (live: Live, runs: ReadonlySet<RunID>, now: number) => {
  const rows = runs.size === 0 ? [] : live.inbox.takeIf(({ runID }) => runID !== undefined && runs.has(runID))
  return {
    writes: rows.map(({ id, sessionID }): Entry => ({ _tag: "InboxTaken", id, sessionID, at: now })),
    putBack: Effect.sync(() => live.inbox.putBack(rows))
  }
}

const goesOn = (parent: Live, child: Live): boolean =>
  child.tasks.isClaimed || parent.tasks.running.some((task) => task.live === child)

/** Removes the sessions of tasks that were to be kept only until now. */
export const disposeOf = Effect.fnUntraced(function*(live: Live, runs: Iterable<RunID>) {
  const table = yield* SessionTable
  for (const run of runs) {
    const taskID = live.tasks.takeDisposable(run)
    const child = taskID === undefined ? undefined : table.peek(taskID)
    // One that is to go on is kept; one that is not is found by nobody from this moment on.
    if (child === undefined || child.isRemoved || goesOn(live, child)) continue
    child.markRemoved(true)
    yield* Effect.catchAll(
      removeSession(child),
      (error) => Effect.logWarning("A task's session could not be removed", error.message)
    )
  }
})
