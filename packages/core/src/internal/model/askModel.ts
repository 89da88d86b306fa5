/** One answer of one model, stored as it arrives: as parts of a message, and as an error if it is cut off. */
import { Ids } from "@skein/domain/Id"
import type { ErrorInfo, FinishReason, UserMessage } from "@skein/domain/Message"
import { formatRef } from "@skein/domain/Model"
import type { Part, ToolPart } from "@skein/domain/Part"
import type { SessionStatus } from "@skein/domain/SessionInfo"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Bus } from "../../Bus.ts"
import { Config } from "../../Config.ts"
import { Failpoints } from "../../Failpoints.ts"
import { Governor } from "../../Governor.ts"
import { Journal } from "../../Journal.ts"
import { isContent, type LanguageModel, ModelError, type ModelRequest } from "../../Provider.ts"
import { logUnstored, StorageError } from "../../StorageError.ts"
import { BudgetExhausted } from "../../Turn.ts"
import { calledTool } from "../conversation/askedOf.ts"
import type { LiveMessage } from "../live/History.ts"
import { type Live, tellStatus } from "../live/Live.ts"
import { AnswerRecord, type AnswerServices } from "./AnswerRecord.ts"
import { isCutEmpty, isSilence, nothingSaid } from "./emptyAnswer.ts"
import { type Attempt, modelCall } from "./modelCall.ts"
import { pointsOf } from "./modelPoints.ts"
import type { RequestBudget } from "./requestBudget.ts"

/** What a model answered. */
export interface Answer {
  readonly message: LiveMessage
  readonly calls: ReadonlyArray<ToolPart>
  readonly finish: FinishReason
  /** The budget that cut it off; undefined if none did. */
  readonly cutBy: ReturnType<RequestBudget["settle"]>
}

/** A request to a model, and what happens to its calls. */
interface Question<E, R> {
  readonly user: UserMessage
  readonly model: LanguageModel
  readonly request: ModelRequest
  readonly requestBudget: RequestBudget
  /** The step limit that this answer reaches. */
  readonly limit: ErrorInfo | undefined
  /** Starts the calls of the answer that can start with it; returns all of them. */
  readonly start: (
    calls: ReadonlyArray<ToolPart>,
    finish: FinishReason
  ) => Effect.Effect<ReadonlyArray<ToolPart>, E, R>
}

const errorOf = (exit: Exit.Exit<unknown, { readonly _tag: string; readonly message: string }>): ErrorInfo => {
  if (Exit.isSuccess(exit)) return { tag: "none", message: "" }
  if (Cause.isInterruptedOnly(exit.cause)) {
    return { tag: "interrupted", message: "Stopped before the answer was complete." }
  }
  const failure = Cause.squash(exit.cause)
  if (failure instanceof ModelError) return { tag: failure.reason, message: failure.message }
  if (failure instanceof StorageError || failure instanceof BudgetExhausted) {
    return { tag: failure._tag, message: failure.message }
  }
  return { tag: "defect", message: failure instanceof Error ? failure.message : String(failure) }
}

/** The services that asking needs besides those of the answer. */
interface AskServices extends AnswerServices {
  readonly governor: Context.Tag.Service<typeof Governor>
  readonly config: Context.Tag.Service<typeof Config>
  readonly points: Context.Tag.Service<typeof Failpoints>
}

type TellStatus = (status: SessionStatus, now: number) => void

/** Stores that a try failed and when the next one is; the next try replaces what it said. */
const storeRetry = (answer: AnswerRecord, { attempt, delay, error }: Attempt, tell: TellStatus) =>
  answer.store((now) => {
    const next = now + delay
    const { message, reason, status } = error
    const extra = answer.countLost(now, status)
    const emptied = answer.buffer.restart()
    tell({ type: "retry", attempt, message, next }, now)
    const part: Part = { ...answer.base(now), type: "retry", attempt, error: { tag: reason, message }, next }
    return { parts: [answer.opening, ...emptied, part], extra }
  })

const saysSomething = ({ buffer }: AnswerRecord): boolean =>
  buffer.parts.some((part) => part.type === "tool" || (part.type === "text" && part.text !== ""))

/** Asks until the model has answered, or an error is final. Meanwhile the session's status shows the waits. */
const send = <E, R>(
  live: Live,
  answer: AnswerRecord,
  { limit, model, requestBudget, request }: Question<E, R>,
  { clock, config: { settings }, governor, journal, points }: AskServices
) => {
  const working = live.status
  const comeBy = pointsOf(points)
  const gate = governor.requests(model)
  const tell: TellStatus = (status, now) => tellStatus(journal, live, status, now)
  const tellNow = (status: SessionStatus) => Effect.sync(() => tell(status, clock.unsafeCurrentTimeMillis()))
  const queuedAt = (position: number): SessionStatus => {
    const pause = gate.closedFor()
    if (pause === 0) return { type: "queued", position }
    const until = clock.unsafeCurrentTimeMillis() + pause
    return { type: "queued", position, pause: { until, origin: formatRef(model.info) } }
  }
  const sending = modelCall({
    model,
    gate,
    take: requestBudget.take(request),
    origin: request.origin,
    settings,
    retry: settings.retry,
    urgent: true,
    begin: (asked) => answer.begin(requestBudget.reserved(asked)),
    emit: (event) => {
      live.connected.unsafeOpen()
      if (isContent(event)) live.clock.alive()
      answer.hear(event.type === "tool-call" ? { ...event, name: calledTool(event.name, request.tools) } : event)
      comeBy(event)
    },
    check: Effect.suspend(() =>
      saysSomething(answer) ? Effect.void : Effect.fail(nothingSaid(model.info, answer.finish))
    ),
    failed: (attempt) =>
      Effect.zipRight(
        storeRetry(answer, attempt, tell),
        Effect.sync(() => {
          requestBudget.settle(isCutEmpty(attempt.error))
          if (attempt.error.reason === "reasoning_refused") live.request.reasonedFrom = answer.message.info.id
        })
      ),
    queued: (position) => Effect.suspend(() => tellNow(queuedAt(position))),
    resumed: tellNow(working)
  })
  return limit === undefined ? sending : Effect.catchIf(sending, isSilence, () => Effect.void)
}

/** Stores the end of a complete answer together with the start of its calls. */
const complete = (answer: AnswerRecord, limit: ErrorInfo | undefined, begunCalls: ReadonlyArray<ToolPart>) =>
  answer.end((now) => {
    const { buffer, finish } = answer
    const extra = answer.count(now)
    const closing: Part = { ...answer.base(now), type: "step-finish", usage: answer.used, finish }
    const rest = { finish, ...(limit === undefined ? {} : { error: limit }) }
    return { parts: [...buffer.parts, closing, ...begunCalls], extra, rest }
  })

/** Stores the end of an answer that was cut off. Its calls are dropped: they never started. */
const breakOff = (answer: AnswerRecord, exit: Parameters<typeof errorOf>[0]) => {
  const { buffer } = answer
  const error = errorOf(exit)
  const failure = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  const status = failure instanceof ModelError ? failure.status : undefined
  buffer.close()
  const finish = buffer.finish === undefined ? {} : { finish: buffer.finish }
  return answer.end((now) => ({
    parts: buffer.parts.filter((part) => part.type !== "tool"),
    extra: answer.countLost(now, status),
    rest: { ...finish, error }
  })).pipe(
    Effect.catchAll(logUnstored("The end of a failed step could not be stored"))
  )
}

/** Asks one model and stores what it says. */
export const askModel = Effect.fnUntraced(function*<E extends { readonly _tag: string; readonly message: string }, R>(
  live: Live,
  question: Question<E, R>
) {
  const context = yield* Effect.context<Ids | Journal | Bus | Governor | Config>()
  const services: AskServices = {
    ids: Context.get(context, Ids),
    journal: Context.get(context, Journal),
    bus: Context.get(context, Bus),
    governor: Context.get(context, Governor),
    config: Context.get(context, Config),
    points: yield* Failpoints,
    clock: yield* Effect.clock,
    runtime: yield* Effect.runtime<never>()
  }
  const { limit, model, requestBudget, start, user } = question
  const { points } = services
  const answer = new AnswerRecord(live, user, model, services)
  const sending = send(live, answer, question, services)
  return yield* Effect.gen(function*() {
    points.hit("before_provider")
    yield* Effect.ensuring(sending, answer.stopFlushing)
    answer.buffer.close()
    const { finish } = answer
    const calls = yield* start(answer.buffer.calls, finish)
    const begunCalls = calls.filter(({ state }) => state.status !== "pending")
    if (begunCalls.length > 0) points.hit("intent_before_commit")
    yield* complete(answer, limit, begunCalls)
    if (begunCalls.length > 0) points.hit("intent_after_commit")
    return { message: answer.message, calls, finish, cutBy: requestBudget.settle(finish === "length") } satisfies Answer
  }).pipe(
    Effect.onExit((exit) => Exit.isSuccess(exit) || answer.isComplete ? Effect.void : breakOff(answer, exit))
  )
})
