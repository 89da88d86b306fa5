/** What follows when a session has been told how runs of its tasks ended: nobody tells it again, and what was kept for that goes. */
import type { RunID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import * as Effect from "effect/Effect"
import type { Entry } from "../../JournalEntry.ts"
import type { Live } from "../live/live.ts"
import { removeSession } from "../live/removeSession.ts"
import { SessionTable } from "../live/SessionTable.ts"

/** Takes the news of runs out of the inbox; gives the changes to be stored, and what puts the news back where they are not. */
export const takeNews = (live: Live, runs: ReadonlySet<RunID>, now: number) => {
  const isTold = (row: InboxRow) => row.runID !== undefined && runs.has(row.runID)
  const rows = runs.size === 0 ? [] : live.inbox.filter(isTold)
  const keep = rows.length === 0 ? live.inbox : live.inbox.filter((row) => !isTold(row))
  if (rows.length > 0) live.inbox.splice(0, live.inbox.length, ...keep)
  return {
    writes: rows.map(({ id, sessionID }): Entry => ({ _tag: "InboxTaken", id, sessionID, at: now })),
    putBack: Effect.sync(() => live.inbox.unshift(...rows))
  }
}

const goesOn = (parent: Live, child: Live): boolean =>
  child.claims > 0 || [...parent.tasks].some((task) => task.live === child)

/** Removes the sessions of tasks that were to be kept only until now. */
export const disposeOf = Effect.fnUntraced(function*(live: Live, runs: Iterable<RunID>) {
  if (live.disposable.size === 0) return
  const table = yield* SessionTable
  for (const run of runs) {
    const taskID = live.disposable.get(run)
    const child = taskID === undefined ? undefined : table.peek(taskID)
    live.disposable.delete(run)
    // One that is to go on is kept; one that is not is found by nobody from this moment on.
    if (child === undefined || child.removing || goesOn(live, child)) continue
    child.removing = true
    yield* Effect.catchAll(
      removeSession(child),
      (error) => Effect.logWarning("A task's session could not be removed", error.message)
    )
  }
})
