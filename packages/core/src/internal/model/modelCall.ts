/** A request to a model: with deadlines, at the gate of its rate limit, and tried again where that may help. */
import type { AnswerBounds, Deadlines, Retry } from "@skein/domain/ConfigInfo"
import type { FinishReason } from "@skein/domain/Message"
import { formatRef, type ModelRef } from "@skein/domain/Model"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type { Settings } from "../../Config.ts"
import type { Restore } from "../../Fibers.ts"
import type { RequestGate, Sender } from "../../Governor.ts"
import { countRequest, countRetry } from "../../Metrics.ts"
import { elapsed } from "../../MonotonicClock.ts"
import {
  AnswerMeter,
  answerTooLarge,
  isContent,
  type LanguageModel,
  ModelError,
  type ModelEvent,
  type ModelRequest,
  type RequestOrigin
} from "../../Provider.ts"
import { withoutReasoning } from "../conversation/prune.ts"
import { kindOf } from "../traced.ts"

/** A model ended its answer without saying anything. */
export const nothingSaid = (model: ModelRef, finish: FinishReason) =>
  finish === "content-filter"
    ? new ModelError({
      reason: "invalid_request",
      retryable: false,
      finish,
      message: `${formatRef(model)} refused to answer: its content filter ended the answer.`
    })
    : new ModelError({
      reason: "empty_response",
      retryable: true,
      finish,
      message: `${formatRef(model)} ended without text or tool calls (finish reason: ${finish}).`
    })

/** Whether an answer is empty. At the last step of a limit that is a normal end, and no failure. */
export const isSilence = (error: unknown): error is ModelError =>
  error instanceof ModelError && error.reason === "empty_response" && error.finish !== "content-filter"

/** Whether an answer was cut off before it said anything: reasoning took all its tokens. */
export const isCutEmpty = (error: unknown): error is ModelError =>
  error instanceof ModelError && error.reason === "empty_response" && error.finish === "length"

type Phase = "connect" | "first_event" | "idle"

const silence: Record<Phase, string> = {
  connect: "did not accept the connection",
  first_event: "said nothing",
  idle: "stopped in the middle of its answer"
}

const tooSlow = (model: LanguageModel, phase: Phase, limit: number) =>
  new ModelError({
    reason: "timeout",
    retryable: true,
    message: `${formatRef(model.info)} ${silence[phase]} within ${limit} ms (deadlines.${phase}).`
  })

/** Whether an error says that there are too many requests, and not only that this one failed. */
const isForAll = ({ reason }: ModelError): boolean => reason === "rate_limit" || reason === "overloaded"

/**
 * How long to wait after a failed try, in milliseconds. If the provider asks for a pause, or is overloaded, this closes
 * the gate for that long. Call it before the failed request passes its place to the next one.
 */
const retryDelay = (gate: RequestGate, error: ModelError, attempt: number, retry: Retry): Effect.Effect<number> =>
  Effect.map(Random.next, (chance) => {
    const full = Math.min(retry.max_delay, retry.base * 2 ** (attempt - 1))
    const backoff = Math.round(full * (0.5 + chance / 2))
    const asked = error.retryAfter === undefined ? undefined : Math.min(error.retryAfter, retry.max_retry_after)
    gate.hold(asked ?? (isForAll(error) ? backoff : 0))
    const closed = gate.closedFor()
    // Requests return a little after the end of a pause, so that they do not all return at once.
    return asked === undefined && closed <= backoff ? backoff : Math.round(closed * (1 + chance / 10))
  })

/** What happens between two tries. */
export interface Attempt {
  /** The number of the try that failed, from 1. */
  readonly attempt: number
  readonly error: ModelError
  /** The time until the next try, in milliseconds. */
  readonly delay: number
}

/** The request without what its provider refused; undefined if there is nothing to leave out. */
const withoutRefused = (request: ModelRequest): ModelRequest | undefined => {
  const messages = request.messages.map(withoutReasoning)
  return messages.some((message, at) => message !== request.messages[at]) ? { ...request, messages } : undefined
}

/** The error of a refused reasoning, as the retry tells it. */
const leftOut = ({ message, reason, status }: ModelError): ModelError =>
  new ModelError({
    reason,
    retryable: true,
    status,
    message: `${message} The reasoning of earlier answers is left out from now on.`
  })

/** How many answers without content to retry before accepting one. */
const triesForNothing = 2

/** What to ask, and what to do meanwhile. */
export interface ModelCallOptions<E, F> {
  readonly model: LanguageModel
  readonly gate: RequestGate
  readonly clock: Clock.Clock
  /** Makes the waits interruptible; nothing else of a call is. */
  readonly restore: Restore
  /** The settings of the project. */
  readonly settings: Settings
  readonly retry: Retry
  readonly origin: RequestOrigin
  /** Whether others wait for the answer: background requests come after all others. */
  readonly urgent: boolean
  /** Returns the request to send, before each try. */
  readonly take: () => ModelRequest | Effect.Effect<ModelRequest, F>
  /** Called right before each try is sent. */
  readonly begin?: (request: ModelRequest) => Effect.Effect<void, E>
  /** Receives the events of all tries. */
  readonly emit: (event: ModelEvent) => void
  /** May reject a complete answer. */
  readonly check?: () => ModelError | undefined
  /** Called after each try that is retried. */
  readonly failed: (attempt: Attempt) => Effect.Effect<void, E>
  /** Called when the request has to wait, with its place in the queue. */
  readonly queued?: (position: number) => void
  /** Called when a wait is over, before a retry or at the gate, and the request is sent. */
  readonly resumed?: () => void
}

/** Asks once. Fails if the model does not connect, start or continue in time, or if its answer exceeds the limits. */
function* askOnce(
  { clock, emit, gate, model, restore }: Pick<
    ModelCallOptions<never, never>,
    "clock" | "emit" | "gate" | "model" | "restore"
  >,
  request: ModelRequest,
  usual: Deadlines,
  bounds: AnswerBounds
) {
  const deadlines = { ...usual, first_event: model.firstEvent ?? usual.first_event }
  // A wait as short as the shortest deadline cannot miss one.
  const shortest = Math.max(1, Math.min(deadlines.connect, deadlines.first_event, deadlines.idle))
  const meter = new AnswerMeter(bounds)
  let phase: Phase = "connect"
  let last = elapsed(clock)
  let isOver = false
  let cut: ModelError | undefined
  let end: (exit: Exit.Exit<void, ModelError>) => void = () => {}
  const endWith = (error: ModelError) => {
    isOver = true
    cut ??= error
    end(Exit.fail(cut))
  }
  const heard = (event: ModelEvent) => {
    // An abandoned request must not emit more events.
    if (isOver) return
    if (event.type === "connected" || isContent(event)) {
      last = elapsed(clock)
      phase = event.type === "connected" ? "first_event" : "idle"
    }
    meter.take(event)
    if (meter.excess === undefined) emit(event)
    else endWith(answerTooLarge(model.info, meter.excess))
  }
  // Events only note the time; an alarm that fires too early is set again.
  let cancel = () => {}
  const look = () => {
    const now = elapsed(clock)
    const left = last + deadlines[phase] - now
    if (left > 0) cancel = gate.alarm(now + Math.min(left, shortest), look)
    else endWith(tooSlow(model, phase, deadlines[phase]))
    return undefined
  }
  // In a fiber of its own, so that it can end before the turn does. As an exit, its failure is not logged as unhandled.
  const fiber = yield* Effect.fork(Effect.exit(restore(model.stream(request, heard))))
  const exit = yield* Effect.exit(restore(Effect.async<void, ModelError>((resume) => {
    end = resume
    fiber.addObserver((ended) => resume(Exit.flatten(ended)))
    if (cut === undefined) look()
    else end(Exit.fail(cut))
  })))
  cancel()
  isOver = true
  // Interrupting a fiber that has ended is not free.
  if (fiber.unsafePoll() === null) yield* Fiber.interrupt(fiber)
  // It may have ended in the moment in which it became too large.
  return Exit.isSuccess(exit) && cut !== undefined ? Exit.fail(cut) : exit
}

/**
 * Asks until the model has answered, or an error is final. Deadlines start when the request is sent, which may be later than
 * when it was made. Run it uninterruptibly: its waits are interruptible.
 */
export function* modelCall<E, F>(options: ModelCallOptions<E, F>) {
  const { clock, gate, model, origin, restore, retry, settings } = options
  const { deadlines, limits: { answer: bounds, requests } } = settings
  const begin = options.begin ?? (() => Effect.void)
  let away = false
  let isPlain = false
  const sender: Sender = {
    rootID: origin.rootID,
    urgent: options.urgent,
    most: settings.provider?.[model.info.providerID]?.max_requests ?? requests,
    queued: (position) => {
      away = true
      options.queued?.(position)
    }
  }
  let empty = 0
  // Consecutive failures that are worth fewer tries than usual.
  let hopeless = 0
  for (let attempt = 1;; attempt++) {
    // A request that waits for budget takes nobody's place in the queue to the model.
    const taken = options.take()
    const asked: ModelRequest = Effect.isEffect(taken) ? yield* restore(taken) : taken
    const request: ModelRequest = isPlain ? withoutRefused(asked) ?? asked : asked
    const place = gate.enter(sender)
    const entered: Exit.Exit<void> = place.granted === undefined
      ? Exit.void
      : yield* Effect.exit(restore(place.granted))
    if (away && Exit.isSuccess(entered)) {
      away = false
      options.resumed?.()
    }
    const begun: Exit.Exit<void, E> = Exit.isFailure(entered) ? entered : yield* Effect.exit(begin(request))
    if (Exit.isFailure(begun)) {
      place.leave()
      return yield* begun
    }
    const sent = elapsed(clock)
    const answered: Exit.Exit<void, ModelError> = yield* askOnce(options, request, deadlines, bounds)
    const refused = Exit.isSuccess(answered) ? options.check?.() : undefined
    const exit: Exit.Exit<void, ModelError> = refused === undefined ? answered : Exit.fail(refused)
    const outcome = Exit.isSuccess(exit) ? "completed" : kindOf(exit.cause)
    countRequest(model.info, origin.purpose, outcome, elapsed(clock) - sent)
    const error: ModelError | undefined = Exit.isSuccess(exit)
      ? undefined
      : Option.getOrUndefined(Cause.failureOption(exit.cause))
    if (error === undefined || Exit.isInterrupted(exit)) {
      place.leave()
      return yield* exit
    }
    const canBePlain: boolean = error.reason === "reasoning_refused" && !isPlain && withoutRefused(asked) !== undefined
    const failure = canBePlain ? leftOut(error) : error
    const delay = error.retryable && !canBePlain ? yield* retryDelay(gate, error, attempt, retry) : 0
    place.leave()
    if (error.reason === "empty_response") empty++
    hopeless = failure.tries === undefined ? 0 : hopeless + 1
    // What the provider refused is left out once, whatever the settings say of retries.
    const isLast = attempt >= retry.attempts && !canBePlain
    if (!failure.retryable || isLast || hopeless >= (failure.tries ?? Infinity) || empty >= triesForNothing) {
      return yield* Effect.fail(failure)
    }
    away = true
    isPlain ||= canBePlain
    countRetry(model.info, failure.reason)
    yield* options.failed({ attempt, error: failure, delay })
    yield* restore(Effect.sleep(Duration.millis(delay)))
  }
}
