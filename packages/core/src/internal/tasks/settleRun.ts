/** The end of a run: decides its outcome, and stores it, together with a notification if the session does not wait for it. */
import { earliest, Ids, type MessageID } from "@skein/domain/Id"
import { type InboxRow, isInert } from "@skein/domain/InboxRow"
import { stepLimitOf } from "@skein/domain/Message"
import type { Outcome, TaskRun } from "@skein/domain/Outcome"
import type { SessionTurn } from "@skein/domain/SessionInfo"
import { none, since, type Usage } from "@skein/domain/Usage"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import { failpoint } from "../../Failpoints.ts"
import type { IsolationRefused, WorkspaceEnd } from "../../Isolation.ts"
import { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import { logUnstored, StorageError } from "../../StorageError.ts"
import type { BudgetExhausted, PromptError, Turn } from "../../Turn.ts"
import type { Entry } from "../../Write.ts"
import { closeStopped } from "../conversation/closeTurn.ts"
import { conclusion } from "../conversation/makePrompt.ts"
import { saidFrom } from "../conversation/saidNow.ts"
import type { Live, RunningTask } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { advance } from "../live/TaskList.ts"
import { cutAnswer } from "../prompts.ts"
import { SessionRunner } from "../runner/SessionRunner.ts"
import { closeWorkspace, factsOf } from "./openRun.ts"
import { notificationText } from "./taskTexts.ts"

/** The end of a run, without its id, text and numbers. */
export type End =
  | { readonly status: "completed" }
  | { readonly status: "empty"; readonly finish: Extract<Outcome, { status: "empty" }>["finish"] }
  | {
    readonly status: "failed"
    readonly error: { readonly tag: string; readonly message: string }
    /** The last answer that did not match the schema. */
    readonly text?: string
  }
  | { readonly status: "stopped"; readonly by: string }
  | { readonly status: "timed_out"; readonly which: "timeout" | "idle"; readonly after: number }
  | { readonly status: "budget_exhausted"; readonly which: BudgetExhausted["which"]; readonly message?: string }
  | { readonly status: "denied"; readonly permission: string }
  | { readonly status: "lost"; readonly reason?: string }

/** The end of a run whose subagent ended its turn. */
export const endOfTurn = (turn: Turn): End => {
  if (turn.end === "steps") return { status: "budget_exhausted", which: "steps", message: stepLimitOf(turn.info) }
  if (turn.end === "denied") return endOfDenied(turn)
  return turn.text === "" ? { status: "empty", finish: turn.info.finish ?? "other" } : { status: "completed" }
}

/** Why a turn was denied: a person's rejection, or a loop that nobody allowed. */
const endOfDenied = (turn: Turn): End => {
  const errors = turn.parts.flatMap((part) => part.type === "tool" && part.state.status === "error" ? [part.state] : [])
  const rejected = errors.find((state) => state.metadata?.["by"] === "rejected")
  if (rejected !== undefined) return { status: "denied", permission: String(rejected.metadata?.["permission"]) }
  const hook = turn.parts.find((part) =>
    part.type === "tool" && part.state.status !== "pending" && part.state.metadata?.["endsTurn"] === true
    && (part.state.status !== "error" || part.state.metadata["permission"] === undefined)
  )
  if (hook !== undefined) return { status: "failed", error: { tag: "hook", message: "A hook has ended the turn." } }
  const loop = errors.find((state) => state.metadata?.["permission"] === "doom_loop")
  return {
    status: "failed",
    error: { tag: "doom_loop", message: loop?.error.message ?? "The subagent repeated itself." }
  }
}

/** The end of a run whose last turn ended before a crash, and that had not settled. */
export const endOfStored = (live: Live, turn: SessionTurn | undefined): End => {
  const ended = turn?.ended
  const last = live.messages?.findLast(({ info }) => info.role === "assistant")
  if (ended === undefined || last?.info.role !== "assistant") return { status: "lost" }
  const { error, how, which } = ended
  if (how === "stopped") return stoppedFromOutside()
  if (how !== "failed") {
    const { info, parts } = last
    const text = conclusion(parts)
    return endOfTurn({ sessionID: live.info.id, info, parts, text, end: how, usage: live.info.usage.subtree })
  }
  if (which !== undefined) return { status: "budget_exhausted", which }
  if (error?.tag === "empty_response") return { status: "empty", finish: last.info.finish ?? "other" }
  return { status: "failed", error: error ?? { tag: "unknown", message: "The task failed before a crash." } }
}

/** The end of a run without a place to work. */
export const isolationFailed = ({ message }: IsolationRefused): Effect.Effect<End> =>
  Effect.succeed({ status: "failed", error: { tag: "isolation", message } })

/** The end of a run whose session was stopped, even before it began. */
export const stoppedFromOutside = (by = "a stop of its session"): End => ({ status: "stopped", by })

const endOfError = (error: PromptError, stoppedBy: string | undefined): End => {
  if (error._tag === "SessionStopped") return stoppedFromOutside(stoppedBy)
  if (error._tag === "BudgetExhausted") {
    const { amount, which } = error
    return { status: "budget_exhausted", which, message: `The budget of ${amount} is exhausted.` }
  }
  if (error._tag === "ModelError" && error.reason === "empty_response") {
    return { status: "empty", finish: error.finish ?? "other" }
  }
  return {
    status: "failed",
    error: { tag: error._tag === "ModelError" ? error.reason : error._tag, message: error.message },
    ...(error._tag === "InvalidAnswer" ? { text: error.last } : {})
  }
}

/** The end of a run, however its work ended; `stopped` if its session was stopped meanwhile. */
export const endOf = (
  exit: Exit.Exit<End, PromptError>,
  { by, stopped }: { readonly stopped: boolean; readonly by?: string | undefined } = { stopped: false }
): End => {
  if (Exit.isSuccess(exit)) return exit.value
  if (Cause.isInterruptedOnly(exit.cause)) {
    return stopped ? stoppedFromOutside(by) : { status: "stopped", by: "its caller" }
  }
  const failure = Cause.failureOption(exit.cause)
  if (failure._tag === "Some") return endOfError(failure.value, by)
  const defect = Cause.squash(exit.cause)
  return {
    status: "failed",
    error: { tag: "defect", message: defect instanceof Error ? defect.message : String(defect) }
  }
}

/** The state of a session when one of its runs began. */
export interface Start {
  /** An id between the messages before the run and those of the run. */
  readonly mark: MessageID
  readonly usage: Usage
}

/** The start of a run that another process began. */
export const startOf = ({ before, time }: TaskRun): Start => ({
  mark: earliest("msg", time.started ?? time.created),
  usage: before ?? none
})

/** Whether an unread row is a prompt of this run. Those of earlier runs became notes when these settled. */
export const isPromptOf = ({ time }: TaskRun, row: InboxRow): boolean =>
  row.kind === "prompt" && row.from === "agent" && row.time.created >= time.created

/** The last thing that a subagent said in this run. */
const lastWords = ({ messages = [] }: Live, { mark }: Start): string => {
  const from = messages.findIndex(({ info }) => info.id >= mark)
  return from < 0 ? "" : saidFrom(messages, from, conclusion)
}

const cuts: Readonly<Record<string, string>> = { length: "its output limit", "content-filter": "a content filter" }

/** The conclusion of a subagent that completed its run, marked if its last answer was cut off. */
const wholeWords = (live: Live, start: Start): string => {
  const words = lastWords(live, start)
  const last = live.messages?.findLast(({ info }) => info.role === "assistant")?.info
  const by = last?.role === "assistant" ? cuts[last.finish ?? ""] : undefined
  return by === undefined || words === "" ? words : `${words}\n\n${cutAnswer(by)}`
}

/** The first retries of storing the end of a run, which take a second and a half at most. */
const again = Schedule.intersect(Schedule.exponential("100 millis"), Schedule.recurs(4))

/** The later retries, as long as the session exists. */
const later = Schedule.union(Schedule.exponential("3 seconds"), Schedule.spaced("30 seconds"))

/** Storing the end of the run has become impossible. */
const removed = ({ taskID }: TaskRun) =>
  new StorageError({ operation: "commit", reason: "constraint", message: `The session ${taskID} was removed.` })

const notification = Effect.fnUntraced(function*(run: TaskRun, outcome: Outcome, now: number) {
  const ids = yield* Ids
  const text = yield* notificationText(run, outcome)
  const row: InboxRow = {
    id: ids.unsafeMake("msg", now),
    sessionID: run.parentID,
    kind: "notification",
    runID: run.id,
    // A stop since the request of the run holds for its outcome.
    ...(run.stops === undefined ? {} : { stops: run.stops }),
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

/** Frees what the run did not use, and removes the budget from the session; returns whether it had one. */
const endBudget = ({ live, reservation }: RunningTask): boolean => {
  if (reservation.node === undefined || reservation.limit === undefined) return false
  live.record.dropAccount()
  return true
}

/** The outcome of a run. Closes its worktree if no other run needs it. */
const outcomeOf = Effect.fnUntraced(function*(parent: Live, task: RunningTask, end: End, start: Start) {
  const { live, row: run } = task
  const isApart = live.info.worktree !== undefined
  const isNeeded = isApart && parent.tasks.running.some((each) => each.live === live && each !== task)
  const worktree = isApart && !isNeeded ? yield* closeWorkspace(parent, run.taskID) : undefined
  return {
    ...end,
    ...(worktree === undefined ? {} : { worktree: leftIn(worktree) }),
    taskID: run.taskID,
    runID: run.id,
    ...(run.cleanup === "delete" ? { isDeleted: true as const } : {}),
    text: end.status === "completed"
      ? wholeWords(live, start)
      : (end.status === "failed" && end.text) || lastWords(live, start),
    usage: since(start.usage, live.info.usage.subtree),
    durationMs: live.clock.now() - task.since
  } as Outcome
})

/** Ends the turn that a crash interrupted in this run, if the run ends before it could continue: no later run may. */
const closeInterrupted = Effect.fnUntraced(
  function*({ live, row }: RunningTask) {
    const { turn } = live.info
    const isOfRun = turn !== undefined && turn.began >= (row.time.started ?? Number.POSITIVE_INFINITY)
    if (isOfRun && live.hasOpenTurn && live.running === undefined) yield* closeStopped(live)
  },
  Effect.catchAll(logUnstored("The turn of a task could not be closed"))
)

/**
 * Makes notes of the prompts of this run that no turn has read: after the run, none of them may start its session. Whether
 * the run has started may not be stored, but only the first of a task's runs prompts its session.
 */
const withdrawUnread = (parent: Live, task: RunningTask): ReadonlyArray<Entry> => {
  const { live: { inbox }, row } = task
  if (parent.tasks.running.find(({ live }) => live === task.live) !== task) return []
  const notes = inbox.rows.filter((prompt) => isPromptOf(row, prompt)).flatMap(({ id }) => inbox.makeNote(id) ?? [])
  return notes.map((note) => ({ _tag: "Inbox", row: note }))
}

/** The events of the end of a run. */
const endFacts = (
  journal: Context.Tag.Service<typeof Journal>,
  { live, row: run }: RunningTask,
  outcome: Outcome
): ReadonlyArray<Entry> => {
  const isDone = outcome.status === "completed"
  const { durationMs, usage } = outcome
  const properties = { ...factsOf(run, live), durationMs, outcome, usage }
  const ended = journal.fact(live.info, isDone ? "subagent.completed" : "subagent.failed", properties)
  if (!run.background) return [ended]
  return [
    ended,
    journal.fact(live.info, isDone ? "background_task.completed" : "background_task.failed", properties)
  ]
}

/** Fails if the tree was lost. Before a worktree is closed, that has to be certain: the next holder may work in it. */
const stillHeld = ({ info: { rootID, worktree } }: Live) =>
  Effect.flatMap(Leases, (leases) => {
    if (leases.epoch(rootID) === 0) return Effect.fail(leases.failure(rootID))
    return worktree === undefined ? Effect.void : Effect.asVoid(leases.renew(rootID))
  })

/** Stores the outcome of a run and delivers it: to the call that waits, or to the session's inbox. */
export const settleRun = Effect.fnUntraced(function*(
  parent: Live,
  task: RunningTask,
  end: End,
  start: Start
) {
  const table = yield* SessionTable
  const runner = yield* SessionRunner
  const journal = yield* Journal
  const { live } = task
  const now = yield* Clock.currentTimeMillis
  // Drops unstored state from memory; stored state is read again.
  if (end.status === "failed") {
    yield* Effect.catchAll(
      table.history(live),
      (error) => Effect.logWarning(`The last answer of the task ${task.row.taskID} could not be read`, error.message)
    )
  }
  advance(task, "settle")
  const { row: run } = task
  // The next holder of the tree continues the run, and its worktree.
  yield* stillHeld(live)
  yield* closeInterrupted(task)
  const outcome = yield* outcomeOf(parent, task, end, start)
  const settled: TaskRun = { ...run, state: "settled", outcome, time: { ...run.time, settled: now } }
  const row = run.background ? yield* notification(run, outcome, now) : undefined
  // Made once, so that every retry stores the same outcome.
  const facts = [...withdrawUnread(parent, task), ...endFacts(journal, task, outcome)]
  const wasBound = endBudget(task)
  const store = (news: InboxRow | undefined) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) =>
      table.peek(run.taskID) === live
        ? journal.commit([
          { _tag: "Run", run: settled },
          ...(wasBound ? [live.record.change(at, {})] : []),
          ...(news === undefined ? [] : [{ _tag: "Inbox", row: news } as const]),
          ...facts
        ])
        : removed(run))
  const tell = (news: InboxRow) =>
    Effect.suspend(() => {
      parent.inbox.push(news)
      // Nothing wakes a session that was stopped meanwhile: it reads the notification with its next prompt.
      return run.background && !isInert(run, parent.stops.all) ? runner.wake(parent) : Effect.void
    })

  // Failing storage does not block the caller: it gets the error now, and the outcome once that is stored.
  const storeLater = Effect.fnUntraced(function*() {
    const done = (yield* Leases).use(parent.info.rootID)
    parent.tasks.storing++
    const news = row ?? (yield* notification(run, outcome, now))
    const isOurs = ({ reason }: StorageError) => reason !== "constraint" && reason !== "held"
    const storing = Effect.retry(store(news), { schedule: later, while: isOurs })
    const fiber = yield* Effect.forkIn(
      Effect.interruptible(Effect.catchAll(
        Effect.zipRight(storing, tell(news)),
        logUnstored("The outcome of a task could not be stored")
      )),
      parent.scope
    )
    fiber.addObserver(() => {
      parent.tasks.storing--
      done()
    })
  })

  yield* Effect.tapError(
    Effect.retry(store(row), { schedule: again, while: ({ reason }) => reason !== "held" }),
    (error) => error.reason === "held" ? Effect.void : storeLater()
  )
  yield* failpoint(run.background ? "bg_done_committed" : "child_done_before_parent_result")
  task.row = settled
  table.rest(live)
  if (row !== undefined) yield* tell(row)
  return outcome
})
