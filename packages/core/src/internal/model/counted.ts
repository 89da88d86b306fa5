/** Metrics of one model request. */
import type { ModelRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { countRequest } from "../../Metrics.ts"
import { elapsed } from "../../MonotonicClock.ts"
import type { RequestOrigin } from "../../Provider.ts"
import { kindOf } from "../traced.ts"

/** Counts a request when it has ended, with its outcome. */
export const counted = <A, E, R>(
  model: ModelRef,
  purpose: RequestOrigin["purpose"],
  request: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.clockWith((clock) => {
    const began = elapsed(clock)
    return Effect.onExit(request, (exit) =>
      Effect.sync(() => {
        const outcome = Exit.isSuccess(exit) ? "completed" : kindOf(exit.cause)
        countRequest(model, purpose, outcome, elapsed(clock) - began)
      }))
  })
