/** Starts runs: checks and stores each request, queues it for its slot, and forks its fiber in the scope of its caller. */
import type { Ids } from "@skein/domain/Id"
import { type InboxRow, isInert } from "@skein/domain/InboxRow"
import type { Outcome, TaskRun } from "@skein/domain/Outcome"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import type { Bus } from "../../Bus.ts"
import { Config } from "../../Config.ts"
import { Governor } from "../../Governor.ts"
import { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import type { SessionStorage } from "../../SessionStorage.ts"
import type { Spill } from "../../Spill.ts"
import { logUnstored, type StorageError } from "../../StorageError.ts"
import { type Accepted, type TaskProgress, TaskRefused, type TaskRequest } from "../../TaskRequest.ts"
import type { Entry } from "../../Write.ts"
import { budgetFault, type Reservation } from "../budget/BudgetNode.ts"
import { grantWaiting } from "../budget/requests.ts"
import { endPromise, keptFor, reserve, settleCount } from "../budget/reservations.ts"
import { type Alarm, forkAwaited, makeAlarms } from "../fibers.ts"
import { type Live, type RunningTask, setStatus } from "../live/Live.ts"
import { inProject, type SessionTable } from "../live/SessionTable.ts"
import { advance, hasBegun } from "../live/TaskList.ts"
import type { SessionRunner } from "../runner/SessionRunner.ts"
import { type CheckedTask, checkTask } from "./checkTask.ts"
import { openRun, reopenRun } from "./openRun.ts"
import { carryOut, observedRun } from "./workRun.ts"

/** Owns the alarms of queued runs, and the fibers that start them. */
export class TaskQueue extends Context.Tag("@skein/core/internal/tasks/TaskQueue")<TaskQueue, {
  readonly alarm: Alarm
  readonly fibers: FiberSet.FiberSet
}>() {
  /** A queue whose fibers and alarms end with the layer. */
  static readonly layer = Layer.scoped(
    TaskQueue,
    Effect.zipWith(makeAlarms, FiberSet.make(), ({ set }, fibers) => ({ alarm: set, fibers }))
  )
}

/** Requests the slot of the first run of a task's queue. The run begins with its slot, or after its timeout. */
const requestSlot = Effect.fnUntraced(function*(task: RunningTask) {
  const governor = yield* Governor
  const journal = yield* Journal
  const { alarm, fibers } = yield* TaskQueue
  const run = yield* FiberSet.runtime(fibers)<never>()
  const { live } = task
  const context = yield* Effect.context<Effect.Effect.Context<ReturnType<typeof setStatus>>>()
  const queued = (position: number) => Effect.provide(setStatus(live, { type: "queued", position }), context)
  // The run was ended meanwhile, and has begun in order to settle without a slot.
  if (hasBegun(task)) return
  task.asked = live.clock.now()
  const { settings: { limits: { concurrency: most } } } = yield* inProject(live, Config)
  if (hasBegun(task)) return
  const news = {
    most,
    queued,
    // Not awaited: the turn that takes the prompt of the run stores its start, if it comes first.
    granted: Effect.flatMap(Clock.currentTimeMillis, (now) => {
      // The slot of a run that settled without it goes to the next prompt of its session.
      if (!advance(task, "grant")) return Effect.void
      // A resumed run keeps its original start time, which is stored.
      const { started = now } = task.row.time
      if (task.row.time.started !== undefined) advance(task, "store")
      task.row = { ...task.row, state: "running", time: { ...task.row.time, started } }
      // Stores the current state, which a promotion may have changed meanwhile.
      const storing = Effect.suspend(() =>
        advance(task, "store") ? journal.commit([{ _tag: "Run", run: task.row }]) : Effect.void
      )
      return Effect.asVoid(
        Effect.fork(Effect.catchAll(storing, logUnstored("The start of a task could not be stored")))
      )
    })
  }
  task.cancelTimeout = alarm(task.asked + task.timeout, () => run(task.expire))
  // If a loop is already running for a message to the task, it takes the prompt of the run, and needs no slot.
  const begin = Effect.suspend(() =>
    live.running === undefined ? task.begin : Effect.zipRight(task.begin, news.granted)
  )
  const { giveUp, position } = live.run.taskSlot(() => governor.slot(live.info.rootID, news)).first(
    () => run(begin),
    news
  )
  task.giveUp = giveUp
  if (position > 0) yield* queued(position)
})

/** Queues a run after the earlier ones of the same task. */
const queueRun = (task: RunningTask): Effect.Effect<void, never, QueueServices> =>
  Effect.suspend(() => {
    if (hasBegun(task)) return Effect.void
    return task.live.tasks.enqueue(task) === 1 ? requestSlot(task) : Effect.void
  })

/** Removes a settled run from the queue, and requests the slot of the next one. */
const dequeueRun = (task: RunningTask): Effect.Effect<void, never, QueueServices> =>
  Effect.suspend(() => {
    const { tasks } = task.live
    const at = tasks.dequeue(task)
    const [next] = tasks.queue
    return at === 0 && next !== undefined && !hasBegun(next) ? requestSlot(next) : Effect.void
  })

/** The services for queueing runs. */
type QueueServices = Effect.Effect.Context<ReturnType<typeof requestSlot>>

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

const countSpawn = Effect.fnUntraced(function*(parent: Live) {
  const { settings: { limits } } = yield* Config
  const root = parent.root
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
  const uncount = yield* inProject(checked.parent, countSpawn(checked.parent))
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
    (starting) => Effect.map(Clock.currentTimeMillis, (now) => reopenRun(checked, row, reservation, starting, now))
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
export const acceptedOf = ({ row }: RunningTask): Accepted => ({
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
