/** The supervisor of subagents: from a request to the outcome that is stored and told once. */
import type { SummaryRow } from "@skein/domain/Event"
import { Ids, type PartID, type SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { Outcome, TaskRun } from "@skein/domain/Outcome"
import { since } from "@skein/domain/Usage"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { Config } from "../../Config.ts"
import { Journal } from "../../Journal.ts"
import type { Entry } from "../../JournalEntry.ts"
import { Leases } from "../../Leases.ts"
import type { StorageError } from "../../StorageError.ts"
import { TaskRefused } from "../../TaskError.ts"
import type { Accepted, TaskProgress, TaskRequest } from "../../TaskRequest.ts"
import { opened } from "../budget/account.ts"
import type { Reservation } from "../budget/BudgetNode.ts"
import { budgetFault } from "../budget/checkBudget.ts"
import { grantWaiting } from "../budget/requests.ts"
import { beginPromise, endPromise, keptFor, reserve, settleCount, workOn } from "../budget/reservations.ts"
import { forkAwaited } from "../forkAwaited.ts"
import { inProject } from "../live/inProject.ts"
import type { Live } from "../live/Live.ts"
import type { RunningTask, TaskServices } from "../live/runningTask.ts"
import { setStatus } from "../live/setStatus.ts"
import { Recovery } from "../session/Recovery.ts"
import { runBegins, runEnded } from "../sessionHooks/turnHooks.ts"
import { servicesForLater } from "../traced.ts"
import { type CheckedTask, checkTask, inTree } from "./checkTask.ts"
import { makeControl } from "./control.ts"
import { lineUp, stepOut } from "./lineUp.ts"
import { observedRun } from "./observedRun.ts"
import { factsOf, openRun, reopenRun, reopenWorkspace } from "./openRun.ts"
import { postman } from "./postman.ts"
import { goOnWith, makeRecover, runOfCall } from "./recover.ts"
import { type End, endOf, isolationFailed, type Start, startOf, stoppedFromOutside } from "./runEnd.ts"
import { settleRun } from "./settleRun.ts"
import { withSummary } from "./summary.ts"
import { stoppedBy, workRun } from "./workRun.ts"

const countSpawn = Effect.fnUntraced(function*(parent: Live) {
  const { settings: { limits } } = yield* Config
  const root = parent.root
  if (root.tasks.spawns >= limits.max_tasks) {
    return yield* new TaskRefused({
      reason: "limit",
      message:
        `This turn has started ${limits.max_tasks} tasks, which is the limit (limits.max_tasks, --max-tasks). Do the rest without tasks.`
    })
  }
  root.tasks.countSpawn()
})

/** Keeps for a run what it may use, and counts it as one of the tasks that those above may start. */
const reserveFor = Effect.fnUntraced(function*({ agent, parent }: CheckedTask, { budget, prompt }: TaskRequest) {
  const wanted = budget ?? agent.budget
  const fault = wanted === undefined ? undefined : budgetFault(wanted)
  if (fault !== undefined) return yield* new TaskRefused({ reason: "budget", message: fault })
  const reservation = reserve(parent.budget, wanted, `${agent.prompt ?? ""}${prompt}`)
  return reservation instanceof TaskRefused ? yield* reservation : reservation
})

/** Tells what a task in the background has called so far. */
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

/** What was kept for a run is free again: others may wait for it. */
const endReservation = (parent: Live, reservation: Reservation): void => {
  settleCount(parent.budget, reservation)
  endPromise(parent.budget, reservation)
  grantWaiting(parent.budget)
}

/** From now on the run uses what was kept for it. */
const beginBudget = ({ live, reservation }: RunningTask, now: number): void => {
  workOn(live.budget, reservation)
  // One that goes on has its account, and what it has used of that.
  if (reservation.limit !== undefined && live.info.budget === undefined) {
    live.record.change(now, { budget: opened(live.budget, reservation.limit, now) })
    beginPromise(live.budget, reservation)
  }
}

/** What a run finds that began without a slot, or too late. */
const notToWork = (
  { isLate, live, stop, timeout }: RunningTask,
  parent: Live,
  { halts, stops }: Before
): End | undefined => {
  if (stop !== undefined) return stoppedBy(stop)
  if (live.run.stops !== stops || parent.run.halts !== halts) return stoppedFromOutside
  return isLate ? { status: "timed_out", which: "timeout", after: timeout } : undefined
}

/** How often the sessions had been halted and stopped when a run was asked for. */
interface Before {
  readonly halts: number | undefined
  readonly stops: number
}

/** The fiber of a run: works, settles, and tells whoever waits. */
const carryOut = Effect.fnUntraced(function*(
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
    const work = Effect.flatMap(ready, (contexts) => workRun(task, request, agent, contexts))
    return Effect.catchTag(work, "IsolationRefused", isolationFailed)
  })
  const told = (rows: ReadonlyArray<SummaryRow>) =>
    task.row.background ? tellProgress(journal, task, start, rows) : progress?.summary(rows) ?? Effect.void
  const watched = request.background === true || progress !== undefined
    ? withSummary(live.info.id, told, working)
    : working
  const exit = yield* Effect.exit(Effect.interruptible(watched))
  task.giveUp()
  // Of an earlier run of the same task it still says how that stands.
  if (live.tasks.line[0] === task && live.status.type === "queued" && live.running === undefined) {
    yield* setStatus(live, { type: "idle" })
  }
  const wasStopped = Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause) && task.stop !== undefined
  const end: End = wasStopped && task.stop !== undefined ? stoppedBy(task.stop) : endOf(exit)
  const outcome = yield* settleRun(parent, task, end, start, before.halts)
  yield* runEnded(live, outcome)
  return outcome
})

/** Puts the run where it gets its slot; from here on it settles, whoever waits for it. */
const launch = Effect.fnUntraced(function*(
  request: TaskRequest,
  progress: TaskProgress | undefined,
  also: ReadonlyArray<Entry> = []
) {
  const checked = yield* checkTask(request)
  yield* inProject(checked.parent, countSpawn(checked.parent))
  const reservation = yield* reserveFor(checked, request)
  return yield* begin(
    checked,
    request,
    reservation,
    progress,
    (starting) => inProject(checked.parent, openRun(checked, request, reservation, starting, also))
  )
})

/** Goes on with a run that another process had begun. */
const relaunch = Effect.fnUntraced(function*(
  checked: CheckedTask & { readonly child: Live },
  row: TaskRun,
  progress: TaskProgress | undefined
) {
  const { agent, background, description, parentID, prompt, taskID } = row
  const request = { parentID, agent, description, prompt, taskID, background, byUser: true }
  const { child, parent } = checked
  const reservation = keptFor(parent.budget, child.budget, row)
  return yield* begin(
    checked,
    request,
    reservation,
    progress,
    (starting) => Effect.map(Clock.currentTimeMillis, (now) => reopenRun(checked, row, reservation, starting, now))
  )
})

const begin = Effect.fnUntraced(function*<E, R>(
  checked: CheckedTask,
  request: TaskRequest,
  reservation: Reservation,
  progress: TaskProgress | undefined,
  open: (starting: (task: RunningTask) => Effect.Effect<void>) => Effect.Effect<RunningTask, E, R>
) {
  const { parent } = checked
  // What is stopped from here on, also while the run is being stored, does not begin any more.
  const { running } = parent
  const halts = running?.halted === true ? undefined : parent.run.halts
  const context = yield* Effect.context<TaskServices>()
  // Also while it waits for a slot, and has no fiber that would.
  const done = (yield* Leases).use(parent.info.rootID)
  let stops = 0
  const starting = (task: RunningTask) => {
    const work = observedRun(task, carryOut(checked, task, request, progress, { halts, stops }))
    const body = Effect.provide(Effect.ensuring(work, leave(parent, task)), context)
    return Effect.map(forkAwaited(Effect.forkIn(Effect.uninterruptible(body), parent.scope)), (fiber) => {
      task.fiber = fiber
      // Also where the scope was closed before the fiber could begin.
      fiber.addObserver((exit) => {
        done()
        parent.tasks.remove(task)
        endReservation(parent, reservation)
        Deferred.unsafeDone(task.ended, exit)
        task.answer?.(exit)
      })
    }).pipe(Effect.uninterruptible)
  }
  const task = yield* Effect.onError(
    open(starting),
    () =>
      Effect.sync(() => {
        done()
        endReservation(parent, reservation)
      })
  )
  stops = task.live.run.stops
  if (progress !== undefined) {
    const model = task.live.info.model ?? checked.agent.model[0]
    yield* progress.started({ taskID: task.row.taskID, runID: task.row.id, model })
  }
  yield* lineUp(task)
  return task
})

/** What was said to a task that did not come to read it begins a run of its own, and wakes nobody who was stopped. */
const leave = (parent: Live, task: RunningTask): Effect.Effect<void, never, TaskServices> => {
  const { halts } = parent.run
  return Effect.suspend(() => {
    parent.tasks.remove(task)
    endReservation(parent, task.reservation)
    const relayed = parent.run.halts === halts && task.live.inbox.rows.some(isSteer)
      ? Effect.catchAll(
        relay(parent, task.row, task.live),
        (error) => Effect.logWarning("A message waits", error.message)
      )
      : Effect.void
    return Effect.zipRight(stepOut(task), relayed)
  })
}

/** Begins a run in the background for what was said to a task that does not run. */
const relay = Effect.fnUntraced(
  function*(parent: Live, { agent, description }: Pick<TaskRun, "agent" | "description">, live: Live) {
    const rows = live.inbox.takeIf(isSteer)
    const now = yield* Clock.currentTimeMillis
    const taken = rows.map(({ id, sessionID }): Entry => ({ _tag: "InboxTaken", id, sessionID, at: now }))
    const prompt = rows.flatMap(({ parts }) => parts.flatMap((part) => part.type === "text" ? [part.text] : [])).join(
      "\n\n"
    )
    const request = {
      parentID: parent.info.id,
      agent,
      description,
      prompt,
      taskID: live.info.id,
      background: true,
      byUser: true
    }
    return yield* Effect.onError(
      launch(request, undefined, taken),
      () => Effect.sync(() => live.inbox.putBack(rows))
    )
  }
)

const isSteer = (row: InboxRow): boolean => row.kind === "steer"

/** Waits for the outcome, or until the run goes on without its caller; giving up ends a run that it still waits for. */
const awaitRun = (
  task: RunningTask,
  restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>,
  progress: TaskProgress | undefined
): Effect.Effect<Outcome | Accepted, StorageError> => {
  const told = (outcome: Outcome) => progress?.settled(outcome) ?? Effect.void
  const waiting = Effect.async<Outcome | Accepted, StorageError>((resume) => {
    task.answer = resume
    const exit = task.fiber?.unsafePoll() ?? null
    if (exit !== null) resume(exit)
  })
  const giveUp = Effect.zipRight(
    task.begin,
    Effect.suspend(() => task.fiber === undefined ? Effect.interrupt : Fiber.interrupt(task.fiber))
  )
  return restore(waiting).pipe(
    Effect.tap((end) => end.status === "accepted" ? Effect.void : told(end)),
    Effect.onInterrupt(() =>
      task.row.background ?
        Effect.void :
        Effect.flatMap(giveUp, (exit) => Exit.isSuccess(exit) ? told(exit.value) : Effect.void)
    )
  )
}

const acceptedOf = ({ row }: RunningTask): Accepted => ({ status: "accepted", taskID: row.taskID, runID: row.id })

/** Makes the service. */
export const makeTasks = Effect.gen(function*() {
  const context = yield* servicesForLater<TaskServices>()

  const run = (request: TaskRequest, progress?: TaskProgress) =>
    inTree(request.parentID, () =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(
          launch(request, progress),
          (task) => request.background === true ? Effect.succeed(acceptedOf(task)) : awaitRun(task, restore, progress)
        )
      ))

  /** The run that a call had asked for in another process; nothing where it had not come so far. */
  const reattach = (parentID: SessionID, partID: PartID, progress: TaskProgress) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const row = yield* runOfCall(parentID, partID)
        if (row === undefined) return undefined
        if (row.background) return { status: "accepted", taskID: row.taskID, runID: row.id } satisfies Accepted
        if (row.outcome !== undefined) return yield* Effect.as(progress.settled(row.outcome), row.outcome)
        return yield* awaitRun(yield* goOnWith(row, relaunch, progress), restore, progress)
      })
    )

  const { receive, ...controls } = makeControl(relay, context)
  yield* postman(receive)
  const recovery = yield* Recovery
  const recover = makeRecover((row) => goOnWith(row, relaunch, undefined), relay)
  recovery.register((root, asked) => Effect.provide(recover(root, asked), context))

  return {
    check: (request: Omit<TaskRequest, "partID" | "timeout">) =>
      Effect.provide(inTree(request.parentID, () => Effect.asVoid(checkTask(request))), context),
    run: (
      request: TaskRequest,
      progress?: TaskProgress
    ): Effect.Effect<Outcome | Accepted, TaskRefused | StorageError> => Effect.provide(run(request, progress), context),
    reattach: (
      parentID: SessionID,
      partID: PartID,
      progress: TaskProgress
    ): Effect.Effect<Outcome | Accepted | undefined, TaskRefused | StorageError> =>
      Effect.provide(reattach(parentID, partID, progress), context),
    ...controls
  }
})
