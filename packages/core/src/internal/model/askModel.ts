/** One answer of one model, stored as it arrives: as parts of a message, and as an error if it is cut off. */
import type { ErrorInfo, FinishReason, UserMessage } from "@skein/domain/Message"
import { formatRef } from "@skein/domain/Model"
import type { Part, ToolPart } from "@skein/domain/Part"
import type { SessionStatus } from "@skein/domain/SessionInfo"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Failpoints } from "../../Failpoints.ts"
import { isContent, type LanguageModel, ModelError, type ModelEvent, type ModelRequest } from "../../Provider.ts"
import { logUnstored, StorageError } from "../../StorageError.ts"
import { BudgetExhausted } from "../../Turn.ts"
import { cutOff } from "../budget/requests.ts"
import { calledTool } from "../conversation/askedOf.ts"
import { saidNow } from "../conversation/saidNow.ts"
import { type Live, tellStatus } from "../live/Live.ts"
import { AnswerRecord } from "./AnswerRecord.ts"
import { type Attempt, isCutEmpty, isSilence, modelCall, nothingSaid } from "./modelCall.ts"
import { makeRequestBudget } from "./requestBudget.ts"
import type { Answer, StepServices } from "./Step.ts"

/** A request to a model, and what happens to its calls. */
interface Question<E, R> {
  readonly user: UserMessage
  readonly model: LanguageModel
  readonly request: ModelRequest
  /** The step limit that this answer reaches. */
  readonly limit: ErrorInfo | undefined
  /** Starts the calls of the answer that can start with it; returns all of them. */
  readonly start: (
    calls: ReadonlyArray<ToolPart>,
    finish: FinishReason
  ) => Effect.Effect<ReadonlyArray<ToolPart>, E, R>
}

/** Returns a function that hits the crash points of an answer. A sign of life without content is a piece of arguments. */
const pointsOf = ({ hit }: Context.Tag.Service<typeof Failpoints>): (event: ModelEvent) => void => {
  let hasBegun = false
  return (event) => {
    const { type } = event
    if (!isContent(event)) return
    if (!hasBegun) hit("first_chunk")
    hasBegun = true
    if (type === "text-delta") hit("mid_text")
    if (type === "activity") hit("mid_tool_args")
  }
}

const errorOf = (cause: Cause.Cause<unknown>): ErrorInfo => {
  if (Cause.isInterruptedOnly(cause)) {
    return { tag: "interrupted", message: "Stopped before the answer was complete." }
  }
  const failure = Cause.squash(cause)
  if (failure instanceof ModelError) return { tag: failure.reason, message: failure.message }
  if (failure instanceof StorageError || failure instanceof BudgetExhausted) {
    return { tag: failure._tag, message: failure.message }
  }
  return { tag: "defect", message: failure instanceof Error ? failure.message : String(failure) }
}

const saysSomething = ({ buffer }: AnswerRecord): boolean =>
  buffer.parts.some((part) => part.type === "tool" || (part.type === "text" && part.text !== ""))

/** Stores the end of an answer that was cut off. Its calls are dropped: they never started. */
const breakOff = (answer: AnswerRecord, cause: Cause.Cause<unknown>) => {
  const { buffer } = answer
  const failure = Cause.squash(cause)
  buffer.close()
  const finish = buffer.finish === undefined ? {} : { finish: buffer.finish }
  return answer.end((now) => ({
    parts: buffer.parts.filter((part) => part.type !== "tool"),
    extra: answer.countLost(now, failure instanceof ModelError ? failure.status : undefined),
    rest: { ...finish, error: errorOf(cause) }
  })).pipe(Effect.catchAll(logUnstored("The end of a failed step could not be stored")))
}

/**
 * Asks one model within the budgets, and stores what it says; the status of the session shows its waits. Run it
 * uninterruptibly: its waits are interruptible. It returns its exit, as the answer ends in any case.
 */
export function* askModel<E, R>(
  live: Live,
  { limit, model, request, start, user }: Question<E, R>,
  services: StepServices
) {
  const { clock, config: { settings }, governor, journal, points, restore } = services
  const said = () => saidNow(live)
  const requestBudget = makeRequestBudget({ live, journal, model, said, inLoop: true, steps: 1 })
  // A step that the budget cannot pay does not even begin.
  const taken = requestBudget.take(request)
  const paid: Exit.Exit<unknown, BudgetExhausted> = Effect.isEffect(taken)
    ? yield* Effect.exit(restore(taken))
    : Exit.void
  if (Exit.isFailure(paid)) return Exit.failCause(paid.cause)
  live.request.steps++
  const answer = new AnswerRecord(live, user, model, services)
  const working = live.status
  const comeBy = pointsOf(points)
  const failed = ({ attempt, delay, error }: Attempt) =>
    Effect.map(
      answer.store((now) => {
        const next = now + delay
        const { message, reason, status } = error
        const extra = answer.countLost(now, status)
        const emptied = answer.buffer.restart()
        tellStatus(journal, live, { type: "retry", attempt, message, next }, now)
        const part: Part = { ...answer.base(now), type: "retry", attempt, error: { tag: reason, message }, next }
        return { parts: [answer.opening, ...emptied, part], extra }
      }),
      () => {
        requestBudget.settle(isCutEmpty(error))
        if (error.reason === "reasoning_refused") live.request.reasonedFrom = answer.message.info.id
      }
    )
  const gate = governor.requests(model)
  const queuedAt = (position: number): SessionStatus => {
    const pause = gate.closedFor()
    if (pause === 0) return { type: "queued", position }
    const until = clock.unsafeCurrentTimeMillis() + pause
    return { type: "queued", position, pause: { until, origin: formatRef(model.info) } }
  }
  const tellNow = (status: SessionStatus) => tellStatus(journal, live, status, clock.unsafeCurrentTimeMillis())
  const call = () =>
    modelCall({
      model,
      gate,
      clock,
      restore,
      settings,
      retry: settings.retry,
      origin: request.origin,
      urgent: true,
      take: () => requestBudget.take(request),
      // Together with the results of the step before.
      begin: (asked) => Effect.zipRight(answer.begin(requestBudget.reserved(asked)), journal.paid(live.info)),
      emit: (event) => {
        live.connected.unsafeOpen()
        if (isContent(event)) live.clock.alive()
        answer.hear(event.type === "tool-call" ? { ...event, name: calledTool(event.name, request.tools) } : event)
        comeBy(event)
      },
      check: () => saysSomething(answer) ? undefined : nothingSaid(model.info, answer.finish),
      failed,
      queued: (position) => tellNow(queuedAt(position)),
      resumed: () => tellNow(working)
    })
  const answering = Effect.gen(function*() {
    points.hit("before_provider")
    if (limit === undefined) yield* call()
    else yield* Effect.catchIf(Effect.gen(call), isSilence, () => Effect.void)
    answer.stopFlushing()
    answer.buffer.close()
    const { buffer, finish } = answer
    const calls = yield* restore(start(buffer.calls, finish))
    const begunCalls = calls.filter(({ state }) => state.status !== "pending")
    if (begunCalls.length > 0) points.hit("intent_before_commit")
    // The end of the answer together with the start of its calls.
    yield* answer.end((now) => {
      const extra = answer.count(now)
      const closing: Part = { ...answer.base(now), type: "step-finish", usage: answer.used, finish }
      const rest = { finish, ...(limit === undefined ? {} : { error: limit }) }
      return { parts: [...buffer.parts, closing, ...begunCalls], extra, rest }
    })
    if (begunCalls.length > 0) points.hit("intent_after_commit")
    return { message: answer.message, calls, finish, cutBy: requestBudget.settle(finish === "length") } satisfies Answer
  })
  const exit = yield* Effect.exit(answering)
  answer.stopFlushing()
  if (Exit.isSuccess(exit)) return exit
  if (!answer.isComplete) yield* breakOff(answer, exit.cause)
  const which = isCutEmpty(Cause.squash(exit.cause)) ? requestBudget.settle(true) : undefined
  requestBudget.settle()
  return which === undefined ? exit : Exit.fail(cutOff(live.budget, which, said()))
}
