/** Controls and status of running tasks, each with a time limit and only for the session that started them. */
import type { ControlRequest } from "@skein/domain/Control"
import { Ids, type MessageID, SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import { type Outcome, reason as sentenceOf, type TaskRun } from "@skein/domain/Outcome"
import { none } from "@skein/domain/Usage"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { byHolder, refusals } from "../../Control.ts"
import { Journal } from "../../Journal.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import type { StorageError } from "../../StorageError.ts"
import {
  type Accepted,
  type MessageOptions,
  type TaskName,
  TaskRefused,
  type TaskStatus,
  type TaskWait,
  type TaskWaited
} from "../../TaskRequest.ts"
import type { Entry } from "../../Write.ts"
import type { Live, RunningTask, StopRequest } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { storeFirst } from "../live/stop.ts"
import { SessionRunner } from "../runner/SessionRunner.ts"
import { checkTask, findChild, findParent, inTree } from "./checkTask.ts"
import { factsOf } from "./openRun.ts"
import { startForMessages, type TaskServices } from "./startRun.ts"

/** How long to wait for tasks by default, in milliseconds. */
const waitTimeout = 10 * 60_000

/** How often, and for how long, controls check whether calls have continued the tasks of a crashed process (ms). */
const attachPace = 20
const attachPatience = 2_000

const refuse = (reason: TaskRefused["reason"], message: string) => new TaskRefused({ reason, message })

const unsettled = (parent: Live, child: Live): ReadonlyArray<RunningTask> =>
  parent.tasks.running.filter((task) => task.live === child)

const named = Effect.fnUntraced(function*({ parentID, taskID }: TaskName) {
  const parent = yield* findParent(parentID)
  return { parent, child: yield* findChild(parent, taskID) }
})

const promote = Effect.fnUntraced(function*(name: TaskName) {
  const journal = yield* Journal
  const { child, parent } = yield* named(name)
  const task = unsettled(parent, child).find((each) => !each.row.background && each.promotable)
  if (task === undefined || task.state === "settling") {
    return yield* refuse(
      "settled",
      `No call waits for the task ${child.info.id}: it has settled, runs in the background, or a program needs its outcome.`
    )
  }
  task.row = { ...task.row, background: true }
  yield* journal.commit([
    { _tag: "Run", run: task.row },
    journal.fact(child.info, "background_task.started", factsOf(task.row, child))
  ]).pipe(
    Effect.tapError(() =>
      Effect.sync(() => {
        task.row = { ...task.row, background: false }
      })
    )
  )
  const accepted: Accepted = { status: "accepted", taskID: task.row.taskID, runID: task.row.id }
  task.answer?.(Exit.succeed(accepted))
  return accepted
}, Effect.uninterruptible)

const status = Effect.fnUntraced(
  function*({ parentID, taskID }: { readonly parentID: SessionID; readonly taskID?: string }) {
    const storage = yield* SessionStorage
    const parent = yield* findParent(parentID)
    const now = yield* Clock.currentTimeMillis
    const only = taskID === undefined ? undefined : (yield* findChild(parent, taskID)).info.id
    const stored = (yield* storage.runs({ parentID })).rows
    const newest = new Map<SessionID, TaskRun>()
    for (const run of stored) newest.set(run.taskID, run)
    const atWork = new Map<TaskRun, number>()
    for (const { live, row, since } of parent.tasks.running) {
      newest.set(row.taskID, row)
      atWork.set(row, live.clock.now() - since)
    }
    const runs = [...newest.values()].filter((run) => only === undefined || run.taskID === only)
    return yield* Effect.forEach(runs, (run) => statusOf(run, now, atWork.get(run)))
  }
)

/** Has a task read its inbox: the current run reads it, or, if no run will, a new one starts. */
const deliver = Effect.fnUntraced(function*(
  parent: Live,
  child: Live,
  also: (run: TaskRun) => ReadonlyArray<Entry> = () => []
) {
  const storage = yield* SessionStorage
  const [task] = unsettled(parent, child)
  // A run that was asked to stop only concludes, and one that settles reads nothing more: a new run follows it.
  if (task !== undefined && task.row.stop === undefined && task.state !== "settling") {
    // A run that waits for its turn reads it then; one that waits for its own tasks is woken.
    if (task.row.time.started !== undefined) yield* (yield* SessionRunner).wake(child)
    return "steered" as const
  }
  const [last] = (yield* storage.runs({ taskID: child.info.id })).rows.slice(-1)
  // A run that its call has yet to continue after a crash will read it.
  if (task === undefined && last !== undefined && last.state !== "settled") return "steered" as const
  const { row: { id: runID, taskID } } = yield* startForMessages(
    parent,
    {
      agent: child.info.agent,
      description: last?.description ?? child.info.title
    },
    child,
    also
  )
  return { status: "accepted", taskID, runID } satisfies Accepted
})

const steer = (
  child: Live,
  id: MessageID,
  text: string,
  now: number,
  byUser: boolean
): InboxRow => ({
  id,
  sessionID: child.info.id,
  kind: "steer",
  ...child.stamp("steer"),
  ...(byUser ? {} : { from: "agent" as const }),
  parts: [{ type: "text", text: text.toWellFormed() }],
  time: { created: now }
})

/** The receipt of a message, which names the run that it begins once there is one. */
const receiptOf = (
  { receipt }: MessageOptions,
  { id, sessionID, time: { created } }: InboxRow,
  run?: TaskRun
): ReadonlyArray<Entry> => {
  const result = run === undefined ? id : `${id} ${run.id}`
  return receipt === undefined ? [] : [{ _tag: "Receipt", receipt: { ...receipt, sessionID, result, created } }]
}

const sendMessage = Effect.fnUntraced(function*(
  { byUser = true, ...name }: TaskName,
  message: string,
  options: MessageOptions
) {
  const journal = yield* Journal
  const ids = yield* Ids
  if (message.trim() === "") return yield* refuse("bad_message", "task_message.message must be a non-empty string")
  const { child, parent } = yield* named(name)
  // This may start a run, so the caller needs the right to start one.
  yield* checkTask({
    parentID: parent.info.id,
    taskID: child.info.id,
    agent: child.info.agent,
    description: child.info.title,
    prompt: message,
    byUser
  })
  const now = yield* Clock.currentTimeMillis
  const row = steer(child, ids.unsafeMake("msg", now), message, now, byUser)
  yield* journal.commit([{ _tag: "Inbox", row }, ...receiptOf(options, row)])
  options.onStored?.(row.id)
  child.inbox.push(row)
  return yield* deliver(parent, child, (run) => receiptOf(options, row, run))
}, Effect.uninterruptible)

/** Asks a run to end. That is stored first, so that the run does not continue after a crash. */
const end = (task: RunningTask, stop: StopRequest): Effect.Effect<void, never, Journal> =>
  Effect.suspend(() => {
    if (task.row.stop !== undefined || task.state === "settling") return Effect.void
    task.row = { ...task.row, stop }
    const ending = Effect.suspend(() => {
      const fiber = task.working ?? task.fiber
      return fiber === undefined ? task.begin : Fiber.interruptFork(fiber)
    })
    return Effect.zipRight(storeFirst(task.live, [{ _tag: "Run", run: task.row }]), ending)
  })

const stop = Effect.fnUntraced(
  function*(name: TaskName, request: StopRequest) {
    const { child, parent } = yield* named(name)
    const tasks = unsettled(parent, child)
    for (const task of tasks) yield* end(task, request)
    return yield* Effect.forEach(tasks, ({ ended }) => Deferred.await(ended), { concurrency: "unbounded" })
  }
)

/** The known outcomes of these tasks, and the runs that are not settled yet. */
const wait = Effect.fnUntraced(function*({ mode = "all", parentID, taskIDs, timeout = waitTimeout }: TaskWait) {
  const storage = yield* SessionStorage
  const parent = yield* findParent(parentID)
  const children = taskIDs === undefined
    ? new Set(parent.tasks.running.filter(({ row }) => row.background).map(({ live }) => live))
    : new Set(yield* Effect.forEach(taskIDs, (taskID) => findChild(parent, taskID)))
  const running = [...children].flatMap((child) => unsettled(parent, child).slice(-1))
  const others = yield* Effect.forEach(
    [...children].filter((child) => unsettled(parent, child).length === 0),
    (child) => Effect.map(storage.runs({ taskID: child.info.id }), ({ rows }) => rows.slice(-1))
  )
  const settled: Array<Outcome> = others.flat().flatMap(({ outcome }) => outcome === undefined ? [] : [outcome])
  const each = running.map(({ ended }) =>
    Effect.map(Deferred.await(ended), (outcome) => {
      settled.push(outcome)
    })
  )
  const enough = mode === "any"
    ? settled.length > 0 || each.length === 0 ? Effect.void : Effect.raceAll(each)
    : Effect.all(each, { concurrency: "unbounded", discard: true })
  yield* Effect.timeoutOption(enough, timeout)
  const settledIDs = new Set(settled.map(({ taskID }) => taskID))
  return {
    settled,
    pending: [...running.map(({ row }) => row), ...others.flat()].flatMap(({ taskID }) =>
      settledIDs.has(taskID) ? [] : [taskID]
    )
  } satisfies TaskWaited
})

/** Recovers a tree. */
type Recover = (parent: Live) => Effect.Effect<void, StorageError | TaskRefused>

/** The runs that a dead process left of a session's tasks; none if they are in memory. */
const leftOf = Effect.fnUntraced(function*(parent: Live) {
  if (parent.root.isRecovered) return []
  const storage = yield* SessionStorage
  return (yield* storage.runs({ parentID: parent.info.id, unsettled: true })).rows
})

/** Has the tasks of a session in memory, recovered where a dead process left some. */
const ready = Effect.fnUntraced(function*(parentID: SessionID, recover: Recover) {
  if ((yield* leftOf(yield* findParent(parentID))).length === 0) return
  yield* inTree(parentID, recover)
  const storage = yield* SessionStorage
  const parent = yield* findParent(parentID)
  // A call continues its task soon after recovery, unless its session waits for a slot.
  const attached = Effect.map(
    storage.runs({ parentID, unsettled: true }),
    ({ rows }) => rows.every(({ id }) => parent.tasks.running.some(({ row }) => row.id === id))
  )
  yield* Effect.timeoutOption(
    Effect.repeat(attached, { until: (all) => all, schedule: Schedule.spaced(attachPace) }),
    attachPatience
  )
})

/** Stops the runs of a task that a dead process left, before anything of its tree continues; returns their ids. */
const stopLeft = Effect.fnUntraced(function*(
  { parentID, taskID }: TaskName,
  request: StopRequest,
  recover: Recover
) {
  const journal = yield* Journal
  const { child, parent } = yield* named({ parentID, taskID })
  const left = (yield* leftOf(parent)).filter((run) => run.taskID === child.info.id)
  if (left.length === 0) return []
  yield* journal.commit(left.map((run) => ({ _tag: "Run", run: { ...run, stop: run.stop ?? request } })))
  yield* recover(parent)
  return left.map(({ id }) => id)
})

const stopAll = Effect.fnUntraced(function*(name: TaskName, by: StopRequest, recover: Recover) {
  const storage = yield* SessionStorage
  const parent = yield* findParent(name.parentID)
  const left = parent.root.isRecovered ? [] : yield* inTree(name.parentID, () => stopLeft(name, by, recover))
  const outcomes = yield* stop(name, by)
  if (left.length === 0) return outcomes
  const known = new Set(outcomes.map(({ runID }) => runID))
  const { rows } = yield* storage.runs({ parentID: name.parentID })
  const stopped = rows.flatMap(({ id, outcome }) =>
    outcome !== undefined && left.includes(id) && !known.has(id) ? [outcome] : []
  )
  return [...stopped, ...outcomes]
})

/** What a person asks is done by the process that holds the tree. A model asks for tasks of its own tree. */
const forPerson = <A, E, R>(
  { byUser, taskID }: TaskName,
  request: ControlRequest,
  own: Effect.Effect<A, E, R>,
  read: (value: unknown) => A
) => byUser === true ? byHolder(SessionID.make(taskID), request, own, refusals.task, read) : own

/** The controls of the service. */
export const makeControl = (context: Context.Context<TaskServices>, recover: Recover) => ({
  promote: (task: TaskName): Effect.Effect<Accepted, TaskRefused | StorageError> =>
    Effect.provide(
      forPerson(
        task,
        { type: "task_promote" },
        Effect.zipRight(ready(task.parentID, recover), promote(task)),
        (value) => value as Accepted
      ),
      context
    ),
  status: (of: Parameters<typeof status>[0]): Effect.Effect<ReadonlyArray<TaskStatus>, TaskRefused | StorageError> =>
    Effect.provide(status(of), context),
  message: (
    task: TaskName,
    text: string,
    options: MessageOptions = {}
  ): Effect.Effect<Accepted | "steered", TaskRefused | StorageError> =>
    forPerson(
      task,
      { type: "task_message", message: text },
      inTree(task.parentID, (parent) => Effect.zipRight(recover(parent), sendMessage(task, text, options))),
      (value) => value as Accepted | "steered"
    ).pipe(Effect.provide(context)),
  stop: (
    task: TaskName,
    request: StopRequest
  ): Effect.Effect<ReadonlyArray<Outcome>, TaskRefused | StorageError> =>
    Effect.provide(
      forPerson(
        task,
        { type: "task_stop", ...request },
        stopAll(task, request, recover),
        (value) => value as ReadonlyArray<Outcome>
      ),
      context
    ),
  wait: (of: TaskWait): Effect.Effect<TaskWaited, TaskRefused | StorageError> =>
    Effect.provide(Effect.zipRight(ready(of.parentID, recover), wait(of)), context)
})

const callsOf = (live: Live | undefined) =>
  (live?.messages ?? []).flatMap(({ parts }) => parts.flatMap((part) => part.type === "tool" ? [part] : []))

const doing = (run: TaskRun, live: Live | undefined): string => {
  const { outcome } = run
  if (outcome !== undefined) {
    return outcome.status === "completed" ? "completed" : `${outcome.status}: ${sentenceOf(outcome)}`
  }
  if (run.stop !== undefined) return `concludes, because it was stopped by ${run.stop.by}`
  if (live === undefined) return "waits for its turn"
  const { status: activity } = live
  const asked = run.state === "queued" ? "waits for a free slot" : "waits to ask the model"
  if (live.clock.isAsking) return "waits for a person's answer"
  if (activity.type === "queued") return `${asked}, queued at position ${activity.position}`
  if (run.state === "queued") return "waits for its turn"
  if (activity.type === "waiting") return activity.message
  if (activity.type === "compacting") return "summarises its conversation to save room"
  if (activity.type === "retry") {
    const again = new Date(activity.next).toISOString()
    return `tries the model again at ${again} (attempt ${activity.attempt} failed): ${activity.message}`
  }
  if (live.tasks.size > 0) return `waits for ${live.tasks.size} ${live.tasks.size === 1 ? "task" : "tasks"} of its own`
  const calls = callsOf(live).flatMap(({ state, tool }) =>
    state.status === "running" ? [state.title === undefined ? tool : `${tool} ${state.title}`] : []
  )
  return calls.length === 0 ? "waits for the model" : `runs ${calls.join(", ")}`
}

/** The status of a task from its newest run; `elapsed` is how long that has run here (ms). */
const statusOf = Effect.fnUntraced(function*(run: TaskRun, now: number, elapsed: number | undefined) {
  const storage = yield* SessionStorage
  const live = (yield* SessionTable).peek(run.taskID)
  const info = live?.info ?? Option.getOrUndefined(yield* storage.session(run.taskID))
  const found: TaskStatus = {
    taskID: run.taskID,
    agent: run.agent,
    description: run.description,
    state: run.state,
    background: run.background,
    doing: doing(run, live),
    elapsedMs: elapsed ?? run.outcome?.durationMs ?? Math.max(0, now - run.time.created),
    lastTool: callsOf(live).at(-1)?.tool,
    usage: info?.usage.subtree ?? none,
    outcome: run.outcome
  }
  return found
})
