/** Runs work alongside the loop of a session, such as the request for a title, until the session is halted or closed. */
import * as Effect from "effect/Effect"
import { Leases } from "../../Leases.ts"
import type { Live } from "./Live.ts"

/** Starts it as an interruptible fiber of the session, from any fiber. */
export const startSideFiber = <A, E, R>(live: Live, effect: Effect.Effect<A, E, R>) =>
  Effect.uninterruptible(
    Effect.flatMap(Leases, (leases) => {
      const done = leases.use(live.info.rootID)
      return Effect.tap(Effect.forkIn(Effect.interruptible(effect), live.scope), (fiber) =>
        Effect.sync(() => {
          live.run.addSideFiber(fiber)
          fiber.addObserver(() => {
            live.run.removeSideFiber(fiber)
            done()
          })
        }))
    })
  )
