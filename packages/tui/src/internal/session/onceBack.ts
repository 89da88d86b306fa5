/** Keeps what was promised to a person whose server is away: it is sent once the server is back. */
import type { BackendError } from "@skein/backend/BackendError"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { SessionModel } from "../model/SessionModel.ts"

/** How often to try again after the backend has given up. It tries for itself before. */
const pace = "1 second"

/**
 * Tries to send a text until there is a server, and says once that it will. What is sent needs a key: a server that went away
 * may have it.
 */
export const onceBack = <A, R>(
  sending: Effect.Effect<A, BackendError, R>,
  text: string,
  { model, touch }: { readonly model: SessionModel; readonly touch: () => void }
): Effect.Effect<A, BackendError, R> =>
  Effect.suspend(() => {
    let isSaid = model.facts.isAway === true
    const isGone = ({ _tag }: BackendError) => _tag === "ServerGone"
    const promise = (error: BackendError) =>
      Effect.sync(() => {
        if (isSaid || !isGone(error)) return
        isSaid = true
        model.promise(text)
        touch()
      })
    return sending.pipe(
      Effect.tapError(promise),
      Effect.retry({ while: isGone, schedule: Schedule.spaced(pace) })
    )
  })
