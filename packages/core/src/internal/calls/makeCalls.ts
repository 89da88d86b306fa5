/** Makes calls of a session in parallel, and counts which of them only wait for others. */
import * as Effect from "effect/Effect"
import type { Call } from "../../Governor.ts"
import { grantWaiting } from "../budget/requests.ts"
import type { Live } from "../live/Live.ts"

/** A call counts as waiting while it waits in at least one place. */
const watched = (live: Live, call: Call) => {
  let waits = 0
  const begin = Effect.sync(() => {
    if (waits++ > 0) return
    live.run.beginWaiting()
    // While all calls wait, budget that the session holds is released only when others continue.
    grantWaiting(live.budget)
  })
  const end = Effect.sync(() => {
    if (--waits === 0) live.run.endWaiting()
  })
  const waiting: Call["waiting"] = (effect) => call.waiting(Effect.acquireUseRelease(begin, () => effect, () => end))
  return { waiting }
}

/** Makes calls with the slot of their session; returns their results in order. */
export const makeCalls = <A, B, E, R>(
  live: Live,
  inputs: ReadonlyArray<A>,
  body: (input: A, call: Call) => Effect.Effect<B, E, R>
): Effect.Effect<Array<B>, E, R> =>
  live.run.slot.calls(inputs, (input, call) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        live.run.beginCall()
      }),
      () => body(input, watched(live, call)),
      () =>
        Effect.sync(() => {
          live.run.endCall()
          grantWaiting(live.budget)
        })
    ))
