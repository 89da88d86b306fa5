/** Decides the delay before the next try, and for how long to pause all requests to the same model. */
import type { Retry } from "@skein/domain/ConfigInfo"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { RequestGate } from "../../Governor.ts"
import type { ModelError } from "../../Provider.ts"

/** Whether an error says that there are too many requests, and not only that this one failed. */
const isForAll = ({ reason }: ModelError): boolean => reason === "rate_limit" || reason === "overloaded"

/**
 * How long to wait after a failed try, in milliseconds. If the provider asks for a pause, or is overloaded, this closes
 * the gate for that long. Call it before the failed request passes its place to the next one.
 */
export const retryDelay = (
  gate: RequestGate,
  error: ModelError,
  attempt: number,
  retry: Retry
): Effect.Effect<number> =>
  Effect.map(Random.next, (chance) => {
    const full = Math.min(retry.max_delay, retry.base * 2 ** (attempt - 1))
    const backoff = Math.round(full * (0.5 + chance / 2))
    const asked = error.retryAfter === undefined ? undefined : Math.min(error.retryAfter, retry.max_retry_after)
    gate.hold(asked ?? (isForAll(error) ? backoff : 0))
    const closed = gate.closedFor()
    // Requests return a little after the end of a pause, so that they do not all return at once.
    return asked === undefined && closed <= backoff ? backoff : Math.round(closed * (1 + chance / 10))
  })
