/** One request to a model, with deadlines, and tried again where that may help. */
import type { Deadlines, Retry } from "@skein/domain/ConfigInfo"
import { formatRef } from "@skein/domain/Model"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { type LanguageModel, ModelError, type ModelEvent, type ModelRequest } from "../../Provider.ts"
import { firstOf } from "../firstOf.ts"

type Phase = "connect" | "first_event" | "idle"

const silence: Record<Phase, string> = {
  connect: "did not accept the request",
  first_event: "said nothing",
  idle: "stopped in the middle of its answer"
}

/** Asks once; fails as `timeout` when the model does not connect, begin or go on in time. */
const askOnce = (
  model: LanguageModel,
  request: ModelRequest,
  deadlines: Deadlines,
  emit: (event: ModelEvent) => void
): Effect.Effect<void, ModelError> =>
  Effect.clockWith((clock) => {
    let phase: Phase = "connect"
    let last = clock.unsafeCurrentTimeMillis()
    let over = false
    const heard = (event: ModelEvent) => {
      // Whoever gave up on this request must not hear of it again.
      if (over) return
      last = clock.unsafeCurrentTimeMillis()
      phase = event.type === "connected" ? "first_event" : "idle"
      emit(event)
    }
    const watch: Effect.Effect<never, ModelError> = Effect.suspend(() => {
      const left = last + deadlines[phase] - clock.unsafeCurrentTimeMillis()
      return left > 0
        ? Effect.zipRight(Effect.sleep(Duration.millis(left)), watch)
        : Effect.fail(tooSlow(model, phase, deadlines[phase]))
    })
    return Effect.ensuring(
      firstOf(model.stream(request, heard), watch),
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
  /** How long it is until the next try, in milliseconds. */
  readonly delay: number
}

/** How many answers without content are taken before that counts as the answer. */
const triesForNothing = 2

const delayOf = (error: ModelError, attempt: number, retry: Retry) =>
  Effect.map(Random.next, (chance) => {
    // A provider that says when is asked then, spread a little, so that a crowd does not come back at once.
    if (error.retryAfter !== undefined) {
      return Math.round(Math.min(error.retryAfter, retry.max_retry_after) * (1 + chance / 10))
    }
    const full = Math.min(retry.max_delay, retry.base * 2 ** (attempt - 1))
    return Math.round(full * (0.5 + chance / 2))
  })

/**
 * Asks until the model has answered, or an error is final. `emit` hears the events of all tries; `failed` is called after
 * each try that is followed by another one. `check` may find an answer that came well to be none.
 */
export const modelCall = <E>(options: {
  readonly model: LanguageModel
  readonly request: ModelRequest
  readonly deadlines: Deadlines
  readonly retry: Retry
  readonly emit: (event: ModelEvent) => void
  readonly check: Effect.Effect<void, ModelError>
  readonly failed: (attempt: Attempt) => Effect.Effect<void, E>
  /** Called when the wait before another try is over. */
  readonly resumed: Effect.Effect<void>
}): Effect.Effect<void, ModelError | E> => {
  const { check, deadlines, emit, failed, model, request, resumed, retry } = options
  const tryFrom = (attempt: number, empty: number): Effect.Effect<void, ModelError | E> =>
    Effect.catchAll(Effect.zipRight(askOnce(model, request, deadlines, emit), check), (error) => {
      const nothing = empty + (error.reason === "empty_response" ? 1 : 0)
      if (!error.retryable || attempt >= retry.attempts || nothing >= triesForNothing) return Effect.fail(error)
      return Effect.flatMap(delayOf(error, attempt, retry), (delay) =>
        failed({ attempt, error, delay }).pipe(
          Effect.zipRight(Effect.sleep(Duration.millis(delay))),
          Effect.zipRight(resumed),
          Effect.zipRight(Effect.suspend(() => tryFrom(attempt + 1, nothing)))
        ))
    })
  return tryFrom(1, 0)
}
