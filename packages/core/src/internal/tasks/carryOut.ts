/** The fiber of a run: works, reports the calls of its subagent, settles, and delivers the outcome. */
import type { SummaryRow } from "@skein/domain/Event"
import { Ids } from "@skein/domain/Id"
import type { Outcome } from "@skein/domain/Outcome"
import type { ToolPart } from "@skein/domain/Part"
import { since } from "@skein/domain/Usage"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import { Bus } from "../../Bus.ts"
import { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import { countRun } from "../../Metrics.ts"
import { isFault } from "../../StorageError.ts"
import type { TaskProgress, TaskRequest } from "../../TaskRequest.ts"
import { beginPromise, opened, workOn } from "../budget/reservations.ts"
import type { Live, RunningTask } from "../live/Live.ts"
import { setStatus } from "../live/setStatus.ts"
import { sessionAttributes, usageAttributes } from "../live/spanAttributes.ts"
import { runBegins, runEnded } from "../sessionHooks.ts"
import { traced } from "../traced.ts"
import type { CheckedTask } from "./checkTask.ts"
import { factsOf, reopenWorkspace } from "./openRun.ts"
import { type End, endOf, isolationFailed, type Start, startOf, stoppedFromOutside } from "./runEnd.ts"
import { settleRun } from "./settleRun.ts"
import { stoppedBy, workRun } from "./workRun.ts"

/** Publishes the calls of a background task so far. */
const tellProgress = Effect.fnUntraced(
  function*(
    journal: Context.Tag.Service<typeof Journal>,
    { live, row, since: asked }: RunningTask,
    start: Start,
    summary: ReadonlyArray<SummaryRow>
  ) {
    const now = yield* Clock.currentTimeMillis
    const usage = since(start.usage, live.info.usage.subtree)
    journal.tell(
      live.info,
      "background_task.progress",
      { ...factsOf(row, live), durationMs: live.clock.now() - asked, usage, summary },
      now
    )
  }
)

/** From now on the run uses its reservation. */
const beginBudget = ({ live, reservation }: RunningTask, now: number): void => {
  workOn(live.budget, reservation)
  // A resumed run already has its account, with its usage.
  if (reservation.limit !== undefined && live.info.budget === undefined) {
    live.record.change(now, { budget: opened(live.budget, reservation.limit, now) })
    beginPromise(live.budget, reservation)
  }
}

/** The end of a run that began without a slot, or too late. */
const notToWork = (
  { live, row: { stop }, state, timeout }: RunningTask,
  parent: Live,
  { halts, stops }: Before
): End | undefined => {
  if (stop !== undefined) return stoppedBy(stop)
  if (live.run.stops !== stops || parent.run.halts !== halts) return stoppedFromOutside(live.run.stoppedBy)
  return state === "expired" ? { status: "timed_out", which: "timeout", after: timeout } : undefined
}

/** How often the sessions had been halted and stopped when a run was requested. */
interface Before {
  readonly halts: number | undefined
  readonly stops: number
}

/** The fiber of a run: works, settles, and delivers the outcome. */
export const carryOut = Effect.fnUntraced(function*(
  { agent, parent }: CheckedTask,
  task: RunningTask,
  request: TaskRequest,
  progress: TaskProgress | undefined,
  before: Before
) {
  const ids = yield* Ids
  const journal = yield* Journal
  const { live } = task
  const start: Start = task.isResumed
    ? startOf(task.row)
    : { mark: yield* ids.make("msg"), usage: live.info.usage.subtree }
  const now = yield* Clock.currentTimeMillis
  const working = Effect.suspend(() => {
    const end = notToWork(task, parent, before)
    if (end !== undefined) return Effect.succeed(end)
    beginBudget(task, now)
    const ready = Effect.zipRight(reopenWorkspace(parent, task), runBegins(live, request.prompt))
    const work = Effect.flatMap(
      ready,
      (contexts) => workRun(task, { ...request, stops: before.stops }, agent, contexts)
    )
    return Effect.catchTag(work, "IsolationRefused", isolationFailed)
  })
  const report = (rows: ReadonlyArray<SummaryRow>) =>
    task.row.background ? tellProgress(journal, task, start, rows) : progress?.summary(rows) ?? Effect.void
  const watched = request.background === true || progress !== undefined
    ? withSummary(
      live,
      report,
      // A model's call reports through its part, which only those see who watch parts grow.
      (bus) =>
        request.partID === undefined || task.row.background
        || bus.hasDeltaListeners({ sessionID: parent.info.id, rootID: parent.info.rootID }),
      working
    )
    : working
  const exit = yield* Effect.exit(Effect.interruptible(watched))
  // That something could not be stored or read is no outcome of the subagent.
  const failure = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.failureOption(exit.cause)) : undefined
  if (failure?._tag === "StorageError" && isFault(failure)) {
    yield* (yield* Leases).abandon(live.info.rootID, failure)
  }
  task.giveUp()
  // The session still shows the status of an earlier run of the same task.
  if (live.tasks.queue[0] === task && live.status.type === "queued" && live.running === undefined) {
    yield* setStatus(live, { type: "idle" })
  }
  const { stop } = task.row
  const wasStopped = stop !== undefined && Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)
  const end: End = wasStopped ? stoppedBy(stop) : endOf(exit, {
    stopped: live.run.stops !== before.stops,
    by: live.run.stoppedBy
  })
  const outcome = yield* settleRun(parent, task, end, start, before.halts)
  yield* runEnded(live, outcome)
  return outcome
})

/** Outcomes that are not failures, because they were requested. */
const succeeded = new Set<Outcome["status"]>(["completed", "stopped"])

/** Works on a run with span and metrics; its span and its log lines name it. */
export const observedRun = <E, R>(
  task: RunningTask,
  work: Effect.Effect<Outcome, E, R>
): Effect.Effect<Outcome, E, R> =>
  traced(
    "Task.run",
    () => ({
      "gen_ai.operation.name": "invoke_agent",
      ...sessionAttributes(task.live),
      "skein.run.id": task.row.id,
      "skein.caller.id": task.row.parentID
    }),
    Effect.tap(work, ({ durationMs, status }) => Effect.sync(() => countRun(task.row.agent, status, durationMs))),
    (exit) =>
      Exit.isSuccess(exit)
        ? {
          outcome: exit.value.status,
          failed: !succeeded.has(exit.value.status),
          attributes: { ...usageAttributes(exit.value.usage), "skein.background": task.row.background }
        }
        : undefined
  ).pipe(Effect.annotateLogs({ task: task.row.taskID, run: task.row.id }))

/** The minimum interval of progress reports, in milliseconds. */
const every = 100

/** A call as a row; a call that has not begun has none. */
const rowOf = (part: ToolPart): SummaryRow | undefined => {
  const { state } = part
  if (state.status === "pending") return undefined
  return {
    id: part.id,
    tool: part.tool,
    state: state.status === "completed" ? { status: "completed", title: state.title } : { status: state.status }
  }
}

/** The calls of a session, also those of earlier runs, sorted by id. */
const rowsOf = ({ messages = [] }: Live): ReadonlyArray<SummaryRow> =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => part.type === "tool" ? rowOf(part) ?? [] : []))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))

/** Reports the calls of a session as they change while an effect runs, if somebody watches, and once at its end. */
const withSummary = <A, E, R>(
  live: Live,
  tell: (rows: ReadonlyArray<SummaryRow>) => Effect.Effect<void>,
  isWatched: (bus: typeof Bus.Service) => boolean,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R | Bus> =>
  Effect.scoped(Effect.gen(function*() {
    const bus = yield* Bus
    const scope = yield* Effect.scope
    const runtime = yield* Effect.runtime<never>()
    let isTold = true
    let isTelling = false
    const telling: Effect.Effect<void> = Effect.suspend(() => {
      if (isTold) {
        isTelling = false
        return Effect.void
      }
      isTold = true
      return Effect.zipRight(Effect.zipRight(tell(rowsOf(live)), Effect.sleep(every)), telling)
    })
    yield* bus.listen({ sessionID: live.info.id, deltas: false }, (event) => {
      if (event.type !== "message.part.updated" || event.properties.part.type !== "tool") return
      if (event.properties.part.state.status === "pending") return
      isTold = false
      // A subagent that waits for its model has no fiber for this.
      if (isTelling || !isWatched(bus)) return
      isTelling = true
      Runtime.runFork(runtime)(telling, { scope, immediate: false })
    })
    // The last change may be newer than the last report.
    return yield* Effect.ensuring(
      effect,
      Effect.suspend(() => {
        const rows = rowsOf(live)
        return rows.length === 0 ? Effect.void : tell(rows)
      })
    )
  }))
