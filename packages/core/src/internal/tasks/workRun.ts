/** The fiber of a run: works, reports the calls of its subagent, settles, and delivers the outcome. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { SummaryRow } from "@skein/domain/Event"
import { Ids } from "@skein/domain/Id"
import { isInert } from "@skein/domain/InboxRow"
import type { Outcome } from "@skein/domain/Outcome"
import type { PartInput, ToolPart } from "@skein/domain/Part"
import { since } from "@skein/domain/Usage"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Option from "effect/Option"
import { Bus } from "../../Bus.ts"
import { failpoint } from "../../Failpoints.ts"
import { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import { countRun } from "../../Metrics.ts"
import { isFault } from "../../StorageError.ts"
import type { TaskProgress, TaskRequest } from "../../TaskRequest.ts"
import { type PromptError, stoppedBefore } from "../../Turn.ts"
import { beginPromise, opened, workOn } from "../budget/reservations.ts"
import { conclusion } from "../conversation/makePrompt.ts"
import { firstOf } from "../fibers.ts"
import {
  type Live,
  type RunningTask,
  sessionAttributes,
  setStatus,
  type StopRequest,
  usageAttributes
} from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { continueParts, maxHookContinuations } from "../runner/runner.ts"
import { asParts, SessionRunner } from "../runner/SessionRunner.ts"
import { runBegins, runEnded, runEnds } from "../sessionHooks.ts"
import { traced } from "../traced.ts"
import type { CheckedTask } from "./checkTask.ts"
import { factsOf, reopenWorkspace } from "./openRun.ts"
import {
  type End,
  endOf,
  endOfStored,
  endOfTurn,
  isolationFailed,
  isPromptOf,
  settleRun,
  type Start,
  startOf,
  stoppedFromOutside
} from "./settleRun.ts"
import { TaskQueue } from "./TaskQueue.ts"
import { concludeText, retryText } from "./taskTexts.ts"

/** How long a task may be silent, in milliseconds. */
const idleLimit = 10 * 60_000

/** How long a stopped task may take to conclude, in milliseconds. */
const grace = 30_000

type AttemptServices =
  | Effect.Effect.Context<ReturnType<typeof attempt>>
  | Effect.Effect.Context<ReturnType<typeof resumed>>

/** A request, and the stop count of its session at that time: after a later stop the run does not work. */
type RunRequest = TaskRequest & { readonly stops: number }

type Prompt = string | ReadonlyArray<PartInput>

/** The prompt of a subagent, which sees nothing else of the caller. */
const promptOf = ({ note }: RunningTask, { prompt }: TaskRequest, contexts: ReadonlyArray<string>): Prompt =>
  note === undefined && contexts.length === 0 ? prompt : [
    ...(note === undefined ? [] : [{ type: "text", text: note, synthetic: true } as const]),
    { type: "text", text: prompt },
    ...contexts.map((text) => ({ type: "text", text, synthetic: true } as const))
  ]

/** Continues what a crash left of a run: an open or ended turn, or a prompt that was not even stored. */
const resumed = Effect.fnUntraced(function*({ live, row }: RunningTask, prompt: Prompt, request: RunRequest) {
  const table = yield* SessionTable
  const runner = yield* SessionRunner
  if (live.run.stops !== request.stops) return yield* stoppedBefore(live.info.id, "it answered")
  const { turn } = live.info
  const started = row.time.started ?? Number.POSITIVE_INFINITY
  const wasPrompted = (turn !== undefined && turn.began >= started)
    || live.inbox.rows.some((waiting) => isPromptOf(row, waiting))
  if (live.hasOpenTurn || (wasPrompted && live.inbox.wantsAnswer)) yield* runner.resume(live)
  // Other messages to the task, or another interrupted turn, do not belong to this run.
  if (!wasPrompted) return yield* attempt(live, prompt, request)
  yield* runner.rest(live)
  // Another run of the same task may have settled meanwhile, and forgotten the history.
  yield* table.history(live)
  if (live.run.lastTurn !== undefined) return endOfTurn(yield* live.run.lastTurn)
  return endOfStored(live, turn)
}, (turn, { live }) => Effect.onInterrupt(turn, () => Effect.flatMap(SessionRunner, (runner) => runner.halt(live))))

/** One attempt: a turn, and the turns after it until it has read the outcomes of its own background tasks. */
const attempt = Effect.fnUntraced(function*(live: Live, prompt: Prompt, request: RunRequest) {
  const runner = yield* SessionRunner
  const options = { from: "agent" as const, ...(request.model === undefined ? {} : { model: request.model }) }
  const first = yield* runner.submit(live, asParts(prompt), options, request.stops)
  yield* runner.rest(live)
  return endOfTurn(yield* live.run.lastTurn ?? Exit.succeed(first))
}, (turn, live) => Effect.onInterrupt(turn, () => Effect.flatMap(SessionRunner, (runner) => runner.halt(live))))

/** Attempts, as many as the agent's definition allows; each knows about the one before. */
const attempts = (
  live: Live,
  first: Effect.Effect<End, PromptError, AttemptServices>,
  request: RunRequest,
  left: number
): Effect.Effect<End, PromptError, AttemptServices> =>
  left === 0
    ? first
    : Effect.flatMap(Effect.exit(first), (exit) => {
      const end = endOf(exit)
      if (end.status !== "failed" || (Exit.isFailure(exit) && Cause.isInterrupted(exit.cause))) return exit
      return attempts(live, attempt(live, retryText(end.error.message), request), request, left - 1)
    })

/** What a subagent said last. */
const lastSaid = ({ messages = [], run: { lastTurn } }: Live): string => {
  if (lastTurn !== undefined && Exit.isSuccess(lastTurn)) return lastTurn.value.text
  const last = messages.findLast(({ info }) => info.role === "assistant")
  return last === undefined ? "" : conclusion(last.parts)
}

/** Continues a subagent whose turn ended well as long as hooks want it to. */
const held = Effect.fnUntraced(function*(
  live: Live,
  first: Effect.Effect<End, PromptError, AttemptServices>,
  request: RunRequest
) {
  let end = yield* first
  for (let again = 0; end.status === "completed"; again++) {
    const hookPrompt = yield* runEnds(live, lastSaid(live), again > 0)
    if (hookPrompt === undefined) break
    if (again === maxHookContinuations) {
      yield* Effect.logWarning(`SubagentStop hooks continued a subagent ${again} times in a row. It ends now.`)
      break
    }
    end = yield* attempt(live, continueParts(hookPrompt), request)
  }
  return end
})

/** The end of a stopped run. */
export const stoppedBy = ({ by, reason }: StopRequest): End => ({
  status: "stopped",
  by: reason === undefined ? by : `${by}: ${reason}`
})

/** Asks for a conclusion in one step without tools. The run is over, with or without one. */
const conclude = Effect.fnUntraced(function*(live: Live, stop: StopRequest) {
  const runner = yield* SessionRunner
  const asking = Effect.suspend(() =>
    runner.submit(live, asParts(concludeText(stop.reason)), { from: "agent" }, live.run.stops)
  )
  yield* Effect.acquireUseRelease(
    Effect.sync(() => {
      live.assignment.isConcluding = true
    }),
    () => Effect.timeoutOption(asking, grace),
    () =>
      Effect.sync(() => {
        live.assignment.isConcluding = false
      })
  ).pipe(Effect.catchAll((error) => Effect.logDebug("A task that was stopped could not conclude", error.message)))
  return stoppedBy(stop)
})

/** Works on a run that has its slot. */
const workRun = Effect.fnUntraced(function*(
  task: RunningTask,
  request: RunRequest,
  agent: AgentInfo,
  contexts: ReadonlyArray<string>
) {
  const { live } = task
  live.assignment.terms = task.terms
  yield* failpoint("child_running")
  const times = { timeout: task.timeout, idle: idleLimit }
  const late = Effect.map(
    clocks(live, times, task.asked),
    (which) => ({ status: "timed_out", which, after: times[which] } satisfies End)
  )
  const prompt = promptOf(task, request, contexts)
  const working = Effect.withFiberRuntime<End, PromptError, AttemptServices>((fiber) => {
    task.working = fiber
    live.assignment.form = request.output
    return Effect.ensuring(
      held(
        live,
        attempts(
          live,
          task.isResumed ? resumed(task, prompt, request) : attempt(live, prompt, request),
          request,
          agent.maxRetries ?? 0
        ),
        request
      ),
      Effect.sync(() => {
        live.assignment.form = undefined
      })
    )
  })
  const exit = yield* Effect.exit(firstOf(working, late))
  const { stop, time } = task.row
  if (stop === undefined) return yield* exit
  return time.started === undefined ? stoppedBy(stop) : yield* conclude(live, stop)
})

/** How often to check again while a person is asked and nothing is measured, in milliseconds. */
const lookAgain = 1_000

/** The time limits, in milliseconds. */
interface Times {
  readonly timeout: number
  readonly idle: number
}

/** Whether something runs that need not give signs of life, or others are waited for. */
const isWaiting = (live: Live): boolean =>
  live.clock.isAsking || live.tasks.size > 0 || live.status.type === "retry" || live.status.type === "queued" ||
  live.status.type === "waiting" ||
  (live.messages?.at(-1)?.parts.some((part) => part.type === "tool" && part.state.status === "running") ?? false)

/**
 * Ends when one of a session's clocks has run out, and returns which; that of the time limit runs since `start`
 * (`live.elapsed`).
 */
const clocks = (live: Live, times: Times, start: number): Effect.Effect<keyof Times> =>
  Effect.suspend(() => {
    const before = live.clock.waited
    live.clock.alive()
    const watch: Effect.Effect<keyof Times> = Effect.suspend(() => {
      const now = live.clock.now()
      const left = times.timeout - (now - start - (live.clock.waited - before))
      if (left <= 0) return Effect.succeed("timeout")
      // The end of a wait is a sign of life: from then on silence is measured again.
      if (isWaiting(live)) live.clock.alive()
      const silence = live.clock.lastAlive + times.idle - now
      if (silence <= 0) return Effect.succeed("idle")
      const pause = Math.min(live.clock.isAsking ? Math.max(left, lookAgain) : left, silence)
      return Effect.zipRight(Effect.sleep(Duration.millis(pause)), watch)
    })
    return watch
  })

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
const notToWork = ({ live, row, state, timeout }: RunningTask, parent: Live, stops: number): End | undefined => {
  if (row.stop !== undefined) return stoppedBy(row.stop)
  if (live.run.stops !== stops || isInert(row, parent.stops.all)) return stoppedFromOutside(live.run.stoppedBy)
  return state === "expired" ? { status: "timed_out", which: "timeout", after: timeout } : undefined
}

/** The fiber of a run: works, settles, and delivers the outcome. */
export const carryOut = Effect.fnUntraced(function*(
  { agent, parent }: CheckedTask,
  task: RunningTask,
  request: RunRequest,
  progress: TaskProgress | undefined
) {
  const ids = yield* Ids
  const journal = yield* Journal
  const { live } = task
  const start: Start = task.isResumed
    ? startOf(task.row)
    : { mark: yield* ids.make("msg"), usage: live.info.usage.subtree }
  const now = yield* Clock.currentTimeMillis
  const working = Effect.suspend(() => {
    const end = notToWork(task, parent, request.stops)
    if (end !== undefined) return Effect.succeed(end)
    beginBudget(task, now)
    const ready = Effect.zipRight(reopenWorkspace(parent, task), runBegins(live, request.prompt))
    const work = Effect.flatMap(
      ready,
      (contexts) => workRun(task, request, agent, contexts)
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
    stopped: live.run.stops !== request.stops,
    by: live.run.stoppedBy
  })
  const outcome = yield* settleRun(parent, task, end, start)
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
): Effect.Effect<A, E, R | Bus | TaskQueue> =>
  Effect.scoped(Effect.gen(function*() {
    const bus = yield* Bus
    const run = yield* FiberSet.runtime((yield* TaskQueue).fibers)<never>()
    let teller: Fiber.RuntimeFiber<void> | undefined
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
      teller = run(telling, { immediate: false })
    })
    // The last change may be newer than the last report.
    return yield* Effect.ensuring(
      effect,
      Effect.suspend(() => {
        const rows = rowsOf(live)
        const told = rows.length === 0 ? Effect.void : tell(rows)
        return teller === undefined ? told : Effect.zipRight(Fiber.interrupt(teller), told)
      })
    )
  }))
