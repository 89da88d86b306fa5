/** One request to a model, with deadlines, and retried if that may help. */
import type { AnswerBounds, Deadlines, Retry } from "@skein/domain/ConfigInfo"
import { formatRef } from "@skein/domain/Model"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type { Settings } from "../../Config.ts"
import type { RequestGate, Sender } from "../../Governor.ts"
import { countRetry } from "../../Metrics.ts"
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
import { endable } from "../fibers.ts"
import { counted } from "./counted.ts"
import { retryDelay } from "./retryDelay.ts"

type Phase = "connect" | "first_event" | "idle"

const silence: Record<Phase, string> = {
  connect: "did not accept the connection",
  first_event: "said nothing",
  idle: "stopped in the middle of its answer"
}

/** Asks once. Fails if the model does not connect, start or continue in time, or if its answer exceeds the limits. */
const askOnce = (
  gate: RequestGate,
  model: LanguageModel,
  request: ModelRequest,
  usual: Deadlines,
  bounds: AnswerBounds,
  emit: (event: ModelEvent) => void
): Effect.Effect<void, ModelError> =>
  Effect.clockWith((clock) => {
    const deadlines = { ...usual, first_event: model.firstEvent ?? usual.first_event }
    // A wait as short as the shortest deadline cannot miss one.
    const shortest = Math.max(1, Math.min(deadlines.connect, deadlines.first_event, deadlines.idle))
    let phase: Phase = "connect"
    let last = elapsed(clock)
    let over = false
    const meter = new AnswerMeter(bounds)
    let cut: (error: ModelError) => void = () => {}
    const heard = (event: ModelEvent) => {
      // An abandoned request must not emit more events.
      if (over) return
      if (event.type === "connected" || isContent(event)) {
        last = elapsed(clock)
        phase = event.type === "connected" ? "first_event" : "idle"
      }
      meter.take(event)
      if (meter.excess === undefined) return emit(event)
      over = true
      cut(answerTooLarge(model.info, meter.excess))
    }
    // It may have ended in the moment in which it became too large.
    const asked = Effect.zipRight(
      model.stream({ ...request, bounds }, heard),
      Effect.suspend(() =>
        meter.excess === undefined ? Effect.void : Effect.fail(answerTooLarge(model.info, meter.excess))
      )
    )
    // Events only note the time; an alarm that fires too early is set again.
    const watch = (end: (error: ModelError) => void) => {
      let cancel = () => {}
      const look = () => {
        const now = elapsed(clock)
        const left = last + deadlines[phase] - now
        if (left > 0) cancel = gate.alarm(now + Math.min(left, shortest), look)
        else end(tooSlow(model, phase, deadlines[phase]))
      }
      look()
      return () => cancel()
    }
    return Effect.ensuring(
      endable(asked, (end) => {
        cut = (error) => end(Exit.fail(error))
        // It may have exceeded the limits before this began to wait.
        if (meter.excess !== undefined) cut(answerTooLarge(model.info, meter.excess))
        return watch(cut)
      }),
      Effect.sync(() => {
        over = true
      })
    )
  })

const tooSlow = (model: LanguageModel, phase: Phase, limit: number) =>
  new ModelError({
    reason: "timeout",
    retryable: true,
    message: `${formatRef(model.info)} ${silence[phase]} within ${limit} ms (deadlines.${phase}).`
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

/**
 * Asks until the model has answered, or an error is final. `emit` receives the events of all tries; `failed` is called
 * after each try that is retried. `check` may reject a complete answer. Deadlines start when the request is sent, which
 * may be later than when it was made.
 */
export const modelCall = <E, F>(options: {
  readonly model: LanguageModel
  readonly gate: RequestGate
  /** The settings of the project. */
  readonly settings: Settings
  /** Returns the request to send, before each try. */
  readonly take: Effect.Effect<ModelRequest, F>
  readonly origin: RequestOrigin
  readonly retry: Retry
  /** Whether others wait for the answer: background requests come after all others. */
  readonly urgent: boolean
  /** Called right before each try is sent. */
  readonly begin: (request: ModelRequest) => Effect.Effect<void, E>
  readonly emit: (event: ModelEvent) => void
  readonly check: Effect.Effect<void, ModelError>
  readonly failed: (attempt: Attempt) => Effect.Effect<void, E>
  /** Called when the request has to wait, with its place in the queue. */
  readonly queued: (position: number) => Effect.Effect<void>
  /** Called when a wait is over, before a retry or at the gate, and the request is sent. */
  readonly resumed: Effect.Effect<void>
}): Effect.Effect<void, ModelError | E | F> => {
  const { begin, check, emit, failed, gate, model, origin, resumed, retry, settings, take } = options
  const { deadlines, limits: { answer: bounds, requests } } = settings
  let away = false
  let isPlain = false
  const sender: Sender = {
    rootID: origin.rootID,
    urgent: options.urgent,
    most: settings.provider?.[model.info.providerID]?.max_requests ?? requests,
    queued: (position) => {
      away = true
      return options.queued(position)
    }
  }
  const ask = (request: ModelRequest) =>
    counted(model.info, origin.purpose, Effect.zipRight(askOnce(gate, model, request, deadlines, bounds, emit), check))
  const ready = (request: ModelRequest) =>
    Effect.suspend(() => {
      if (!away) return begin(request)
      away = false
      return Effect.zipRight(resumed, begin(request))
    })
  // `hopeless` counts consecutive failures that are worth fewer tries than usual.
  const tryFrom = (
    attempt: number,
    empty: number,
    hopeless: number
  ): Effect.Effect<void, ModelError | E | F> => {
    const trying = (asked: ModelRequest) => {
      const plain = withoutRefused(asked)
      const request = isPlain ? plain ?? asked : asked
      const failing = (error: ModelError) =>
        error.reason === "reasoning_refused" && plain !== undefined && !isPlain
          ? Effect.fail({ attempt, error: leftOut(error), delay: 0 })
          : error.retryable
          ? Effect.flatMap(retryDelay(gate, error, attempt, retry), (delay) => Effect.fail({ attempt, error, delay }))
          : Effect.fail({ attempt, error, delay: 0 })
      return Effect.zipRight(ready(request), Effect.either(Effect.catchAll(ask(request), failing)))
    }
    // A request that waits for budget takes nobody's place in the queue to the model.
    const next = Effect.flatMap(take, (request) => gate.send(sender, trying(request)))
    return Effect.flatMap(next, (ended) => {
      if (Either.isRight(ended)) return Effect.void
      const failure = ended.left
      const { delay, error } = failure
      const nothing = empty + (error.reason === "empty_response" ? 1 : 0)
      const inRow = error.tries === undefined ? 0 : hopeless + 1
      // What the provider refused is left out once, whatever the settings say of retries.
      const isLast = attempt >= retry.attempts && error.reason !== "reasoning_refused"
      if (
        !error.retryable || isLast || inRow >= (error.tries ?? Infinity) ||
        nothing >= triesForNothing
      ) return Effect.fail(error)
      away = true
      isPlain ||= error.reason === "reasoning_refused"
      countRetry(model.info, error.reason)
      return failed(failure).pipe(
        Effect.zipRight(Effect.sleep(Duration.millis(delay))),
        Effect.zipRight(Effect.suspend(() => tryFrom(attempt + 1, nothing, inRow)))
      )
    })
  }
  return tryFrom(1, 0, 0)
}
