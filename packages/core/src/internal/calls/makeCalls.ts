/** Makes calls of a session in parallel, and counts which of them only wait for others. */
import type * as Effect from "effect/Effect"
import type { Call, LeaveCall } from "../../Slot.ts"
import { grantWaiting } from "../budget/requests.ts"
import type { Live } from "../live/Live.ts"

/** Makes calls with the slot of their session; returns their results in order. `ended` learns how long each has taken (ms). */
export const makeCalls = <A, B, E, R>(
  live: Live,
  inputs: ReadonlyArray<A>,
  body: (input: A, call: Call, leave?: LeaveCall<B, E, R>) => Effect.Effect<B, E, R>,
  ended: (input: A, took: number) => void
): Effect.Effect<Array<B>, E, R> =>
  live.run.slot.calls(inputs, body, {
    begin: (input) => {
      live.run.beginCall()
      const began = live.clock.now()
      return () => {
        live.run.endCall()
        grantWaiting(live.budget)
        ended(input, live.clock.now() - began)
      }
    },
    beginWaiting: () => {
      live.run.beginWaiting()
      // While all calls wait, budget that the session holds is released only when others continue.
      grantWaiting(live.budget)
    },
    endWaiting: () => {
      live.run.endWaiting()
    }
  })
