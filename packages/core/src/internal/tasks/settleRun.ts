/** The end of a run: its outcome is stored, together with the news of it for a session that does not wait for it. */
import { Ids } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { Outcome, TaskRun } from "@skein/domain/Outcome"
import { since } from "@skein/domain/Usage"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { WorkspaceEnd } from "../../Isolation.ts"
import { Journal } from "../../Journal.ts"
import type { Write } from "../../SessionStorage.ts"
import { change, type Live, withoutBudget } from "../session/live.ts"
import { wake } from "../session/runner.ts"
import { SessionTable } from "../session/SessionTable.ts"
import { closeWorkspace, factsOf } from "./openRun.ts"
import { type End, lastWords, type Start } from "./runEnd.ts"
import type { RunningTask } from "./runningTask.ts"
import { notificationText } from "./taskTexts.ts"

/** How the end of a run is stored where that fails at first: it is worth more than a try. Takes a second and a half at most. */
const again = Schedule.intersect(Schedule.exponential("100 millis"), Schedule.recurs(4))

const notification = Effect.fnUntraced(function*(run: TaskRun, outcome: Outcome, now: number) {
  const ids = yield* Ids
  const text = yield* notificationText(run, outcome)
  const row: InboxRow = {
    id: ids.unsafeMake("msg", now),
    sessionID: run.parentID,
    kind: "notification",
    runID: run.id,
    parts: [{ type: "text", text, synthetic: true }],
    time: { created: now }
  }
  return row
})

const leftIn = (
  { branch, commits, diffStat, directory, uncommitted }: Extract<WorkspaceEnd, { readonly kept: true }>
) => ({
  branch,
  directory,
  commits,
  uncommitted,
  diffStat
})

/** What the run did not use is free again; the session is not bound by it any more. */
const endBudget = ({ live, reservation }: RunningTask, now: number): ReadonlyArray<Write> => {
  if (reservation.live === undefined || reservation.limit === undefined) return []
  withoutBudget(live)
  return [change(live, now, {})]
}

/** Stores the outcome of a run and tells who is to know: the call that waits, or the session's inbox. */
export const settleRun = Effect.fnUntraced(function*(
  parent: Live,
  task: RunningTask,
  end: End,
  start: Start,
  haltsBefore: number | undefined
) {
  const table = yield* SessionTable
  const journal = yield* Journal
  const { live } = task
  const now = yield* Clock.currentTimeMillis
  // What could not be stored is no longer in memory; what could be is read again.
  if (end.status === "failed") yield* Effect.orElseSucceed(table.history(live), () => [])
  task.isSettling = true
  const { row: run } = task
  const isApart = live.info.worktree !== undefined
  const isNeeded = isApart && [...parent.tasks].some((each) => each.live === live && each !== task)
  const worktree = isApart && !isNeeded ? yield* closeWorkspace(run.taskID) : undefined
  const outcome = {
    ...end,
    ...(worktree === undefined ? {} : { worktree: leftIn(worktree) }),
    taskID: run.taskID,
    runID: run.id,
    text: (end.status === "failed" && end.text) || lastWords(live, start),
    usage: since(start.usage, live.info.usage.subtree),
    durationMs: now - run.time.created
  } as Outcome
  const settled: TaskRun = { ...run, state: "settled", outcome, time: { ...run.time, settled: now } }
  const isDone = end.status === "completed"
  const properties = { ...factsOf(run, live), durationMs: outcome.durationMs, outcome, usage: outcome.usage }
  const row = run.background ? yield* notification(run, outcome, now) : undefined
  const events = [
    journal.event(live.info, isDone ? "subagent.completed" : "subagent.failed", properties, now),
    ...(row === undefined
      ? []
      : [journal.event(live.info, isDone ? "background_task.completed" : "background_task.failed", properties, now)])
  ]
  const writes = [
    { _tag: "Run", run: settled } as const,
    ...endBudget(task, now),
    ...(row === undefined ? [] : [{ _tag: "Inbox", row } as const])
  ]
  yield* Effect.retry(journal.commit(writes, events), again)
  task.row = settled
  table.rest(live)
  if (row === undefined) return outcome
  parent.inbox.push(row)
  // Nothing wakes a session that was stopped meanwhile: it reads the news when it is next prompted.
  if (parent.halts === haltsBefore) yield* wake(parent)
  return outcome
})
