/** Starts runs: checks and stores each request, and forks its fiber in the scope of its caller. */
import type { Ids } from "@skein/domain/Id"
import { type InboxRow, isInert } from "@skein/domain/InboxRow"
import type { Outcome, TaskRun } from "@skein/domain/Outcome"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { Bus } from "../../Bus.ts"
import { Config } from "../../Config.ts"
import type { Governor } from "../../Governor.ts"
import type { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import type { SessionStorage } from "../../SessionStorage.ts"
import type { Spill } from "../../Spill.ts"
import type { StorageError } from "../../StorageError.ts"
import { type Accepted, type TaskProgress, TaskRefused, type TaskRequest } from "../../TaskRequest.ts"
import type { Entry } from "../../Write.ts"
import { budgetFault, type Reservation } from "../budget/BudgetNode.ts"
import { grantWaiting } from "../budget/requests.ts"
import { endPromise, keptFor, reserve, settleCount } from "../budget/reservations.ts"
import { forkAwaited } from "../fibers.ts"
import type { Live, RunningTask } from "../live/Live.ts"
import { inProject, type SessionTable } from "../live/SessionTable.ts"
import type { SessionRunner } from "../runner/SessionRunner.ts"
import { type CheckedTask, checkTask } from "./checkTask.ts"
import { openRun, reopenRun } from "./openRun.ts"
import { dequeueRun, queueRun, type TaskQueue } from "./TaskQueue.ts"
import { carryOut, observedRun } from "./workRun.ts"

/** The services for starting, working on and settling a run. */
export type TaskServices =
  | TaskQueue
  | Bus
  | Governor
  | Ids
  | Journal
  | Leases
  | SessionRunner
  | SessionStorage
  | SessionTable
  | Spill

const countSpawn = Effect.fnUntraced(function*(parent: Live, byProgram = false) {
  const { settings: { limits } } = yield* Config
  const root = parent.root
  if (byProgram) {
    if (root.tasks.programSpawns < limits.program_tasks) return root.tasks.countProgramSpawn()
    return yield* new TaskRefused({
      reason: "limit",
      message:
        `Programs have started ${limits.program_tasks} tasks in this tree, which is the limit (limits.program_tasks).`
    })
  }
  if (root.tasks.spawns >= limits.max_tasks) {
    return yield* new TaskRefused({
      reason: "limit",
      message: `This turn has started ${limits.max_tasks} ${
        limits.max_tasks === 1 ? "task" : "tasks"
      }, which is the limit (limits.max_tasks, --max-tasks). Do the rest without tasks.`
    })
  }
  return root.tasks.countSpawn()
})

/** Reserves the budget of a run, and counts it towards the task limits above it. */
const reserveFor = Effect.fnUntraced(function*({ agent, parent }: CheckedTask, { budget, prompt }: TaskRequest) {
  const requested = budget ?? agent.budget
  const fault = requested === undefined ? undefined : budgetFault(requested)
  if (fault !== undefined) return yield* new TaskRefused({ reason: "budget", message: fault })
  const reservation = reserve(parent.budget, requested, `${agent.prompt ?? ""}${prompt}`)
  return reservation instanceof TaskRefused ? yield* reservation : reservation
})

/** Releases the reservation of a run, and grants it to waiting requests. */
const endReservation = (parent: Live, reservation: Reservation): void => {
  settleCount(parent.budget, reservation)
  endPromise(parent.budget, reservation)
  grantWaiting(parent.budget)
}

/** Checks and stores a run, and queues it for its slot. From here on it settles, with or without a waiting caller. */
export const startRun = Effect.fnUntraced(function*(
  request: TaskRequest,
  progress: TaskProgress | undefined,
  also: (run: TaskRun) => ReadonlyArray<Entry> = () => []
) {
  const checked = yield* checkTask(request)
  const uncount = yield* inProject(checked.parent, countSpawn(checked.parent, request.byProgram))
  const counted = <A, E, R>(starting: Effect.Effect<A, E, R>) => Effect.onError(starting, () => Effect.sync(uncount))
  const reservation = yield* counted(reserveFor(checked, request))
  return yield* forkRun(
    checked,
    request,
    reservation,
    progress,
    (starting) => counted(inProject(checked.parent, openRun(checked, request, reservation, starting, also)))
  )
})

/** Recovers a run that another process began. */
export const restartRun = Effect.fnUntraced(function*(
  checked: CheckedTask & { readonly child: Live },
  row: TaskRun,
  progress: TaskProgress | undefined
) {
  const { agent, background, description, parentID, prompt, taskID } = row
  const request = { parentID, agent, description, prompt, taskID, background, byUser: true }
  const { child, parent } = checked
  const reservation = keptFor(parent.budget, child.budget, row)
  return yield* forkRun(
    checked,
    request,
    reservation,
    progress,
    (starting) =>
      Effect.map(Clock.currentTimeMillis, (now) => reopenRun(parent, child, row, reservation, starting, now))
  )
})

const forkRun = Effect.fnUntraced(function*<E, R>(
  checked: CheckedTask,
  request: TaskRequest,
  reservation: Reservation,
  progress: TaskProgress | undefined,
  open: (starting: (task: RunningTask) => Effect.Effect<void>) => Effect.Effect<RunningTask, E, R>
) {
  const { parent } = checked
  const context = yield* Effect.context<TaskServices>()
  // This includes the wait for a slot, during which the run has no fiber.
  const done = (yield* Leases).use(parent.info.rootID)
  let stops = 0
  const starting = (task: RunningTask) => {
    const work = observedRun(task, carryOut(checked, task, { ...request, stops }, progress))
    const body = Effect.provide(Effect.ensuring(work, leave(parent, task)), context)
    return Effect.map(forkAwaited(Effect.forkIn(Effect.uninterruptible(body), parent.scope)), (fiber) => {
      task.fiber = fiber
      // Even if the scope closed before the fiber could begin.
      fiber.addObserver((exit) => {
        done()
        parent.tasks.remove(task)
        endReservation(parent, reservation)
        Deferred.unsafeDone(task.ended, exit)
        task.answer?.(exit)
      })
    }).pipe(Effect.uninterruptible)
  }
  const asking = Effect.suspend(() => {
    parent.tasks.storing++
    return Effect.ensuring(open(starting), Effect.sync(() => parent.tasks.storing--))
  })
  const task = yield* Effect.onError(
    asking,
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
  yield* queueRun(task)
  return task
})

/** Messages that a task did not read before it settled start a new run, unless a stop came after them. */
const leave = (parent: Live, task: RunningTask): Effect.Effect<void, never, TaskServices> =>
  Effect.suspend(() => {
    parent.tasks.remove(task)
    endReservation(parent, task.reservation)
    const relayed = !isInert(task.row, parent.stops.all) && task.live.inbox.rows.some((row) =>
        isSteer(row) && task.live.startsLoop(row)
      )
      ? Effect.catchAll(
        startForMessages(parent, task.row, task.live),
        (error) => Effect.logWarning("A message stays in its inbox", error.message)
      )
      : Effect.void
    return Effect.zipRight(dequeueRun(task), relayed)
  })

/** Starts a background run for messages to a task that does not run. */
export const startForMessages = Effect.fnUntraced(
  function*(
    parent: Live,
    { agent, description }: Pick<TaskRun, "agent" | "description">,
    live: Live,
    also: (run: TaskRun) => ReadonlyArray<Entry> = () => []
  ) {
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
      startRun(request, undefined, (run) => [...taken, ...also(run)]),
      () => Effect.sync(() => live.inbox.putBack(rows))
    )
  }
)

const isSteer = (row: InboxRow): boolean => row.kind === "steer"

/** The result for a caller that does not wait for the run. */
export const acceptedOf = ({ row }: Pick<RunningTask, "row">): Accepted => ({
  status: "accepted",
  taskID: row.taskID,
  runID: row.id
})

/** Calls back once the run has ended, or does not keep its caller waiting any more. */
export const awaitEnd = (task: RunningTask, ring: () => void): void => {
  task.answer = ring
  if (task.row.background || (task.fiber?.unsafePoll() ?? null) !== null) ring()
}

/** Waits for the outcome, or until the run is promoted; interruption ends a run that it still waits for. */
export const joinRun = (
  task: RunningTask,
  progress: TaskProgress | undefined
): Effect.Effect<Outcome | Accepted, StorageError> => {
  const report = (outcome: Outcome) => progress?.settled(outcome) ?? Effect.void
  const waiting = Effect.async<Outcome | Accepted, StorageError>((resume) => {
    task.answer = resume
    if (task.row.background) return resume(Exit.succeed(acceptedOf(task)))
    const exit = task.fiber?.unsafePoll() ?? null
    if (exit !== null) resume(exit)
  })
  const giveUp = Effect.zipRight(
    task.begin,
    Effect.suspend(() => task.fiber === undefined ? Effect.interrupt : Fiber.interrupt(task.fiber))
  )
  const abandon = Effect.suspend(() =>
    task.row.background ?
      Effect.void :
      Effect.flatMap(giveUp, (exit) => Exit.isSuccess(exit) ? report(exit.value) : Effect.void)
  )
  return Effect.uninterruptible(Effect.matchCauseEffect(Effect.interruptible(waiting), {
    onSuccess: (end): Effect.Effect<Outcome | Accepted> =>
      end.status === "accepted" ? Effect.succeed(end) : Effect.as(report(end), end),
    onFailure: (cause) =>
      Effect.zipRight(Cause.isInterruptedOnly(cause) ? abandon : Effect.void, Effect.failCause(cause))
  }))
}
