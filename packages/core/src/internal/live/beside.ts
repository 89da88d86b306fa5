/** Runs what goes on beside the loop of a session, until that is halted or closed. */
import * as Effect from "effect/Effect"
import { Leases } from "../../Leases.ts"
import type { Live } from "./Live.ts"

/** Starts it as a fiber of the session that can be interrupted, wherever it is started from. */
export const beside = <A, E, R>(live: Live, effect: Effect.Effect<A, E, R>) =>
  Effect.uninterruptible(
    Effect.flatMap(Leases, (leases) => {
      const done = leases.use(live.info.rootID)
      return Effect.tap(Effect.forkIn(Effect.interruptible(effect), live.scope), (fiber) =>
        Effect.sync(() => {
          live.run.addBeside(fiber)
          fiber.addObserver(() => {
            live.run.removeBeside(fiber)
            done()
          })
        }))
    })
  )
