/** The work of a run: attempts until one succeeds, within its time limit and its maximum silence, and an orderly end if it is stopped. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { PartInput } from "@skein/domain/Part"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { failpoint } from "../../Failpoints.ts"
import type { TaskRequest } from "../../TaskRequest.ts"
import { type PromptError, stoppedBefore } from "../../Turn.ts"
import { conclusion } from "../conversation/makePrompt.ts"
import { firstOf } from "../fibers.ts"
import type { Live, RunningTask, StopRequest } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { continueParts, maxHookContinuations } from "../runner/runner.ts"
import { SessionRunner } from "../runner/SessionRunner.ts"
import { asParts } from "../runner/submitPrompt.ts"
import { runEnds } from "../sessionHooks.ts"
import { type End, endOf, endOfStored, endOfTurn, isPromptOf } from "./runEnd.ts"
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
      live.assignment.conclude(true)
    }),
    () => Effect.timeoutOption(asking, grace),
    () =>
      Effect.sync(() => {
        live.assignment.conclude(false)
      })
  ).pipe(Effect.catchAll((error) => Effect.logDebug("A task that was stopped could not conclude", error.message)))
  return stoppedBy(stop)
})

/** Works on a run that has its slot. */
export const workRun = Effect.fnUntraced(function*(
  task: RunningTask,
  request: RunRequest,
  agent: AgentInfo,
  contexts: ReadonlyArray<string>
) {
  const { live } = task
  live.assignment.begin(task.terms)
  yield* failpoint("child_running")
  const times = { timeout: task.timeout, idle: idleLimit }
  const late = Effect.map(
    clocks(live, times, task.asked),
    (which) => ({ status: "timed_out", which, after: times[which] } satisfies End)
  )
  const prompt = promptOf(task, request, contexts)
  const working = Effect.withFiberRuntime<End, PromptError, AttemptServices>((fiber) => {
    task.working = fiber
    live.assignment.askForm(request.output)
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
        live.assignment.askForm(undefined)
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
