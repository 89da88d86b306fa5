/** Keeps what was promised to a person whose server is away: it is sent once the server is back. */
import type { BackendError } from "@skein/backend/BackendError"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { Acting } from "./Acting.ts"

/** How often to try again after the backend has given up. It tries for itself before. */
const pace = "1 second"

/** How long a server may take to answer until that is said. */
const patience = "4 seconds"

/** Says that the server takes long, unless it is known to be away, and that what was typed is not lost. */
export const sayLate = (
  { backend, model, touch }: Pick<Acting, "backend" | "model" | "touch">
): Effect.Effect<void> =>
  Effect.delay(
    Effect.sync(() => {
      if (model.facts.isAway === true || backend.where._tag === "Local") return
      model.say(
        `The server at ${backend.where.url} has not answered yet. Your prompt is sent as soon as it does, or to another server of its cluster.`
      )
      touch()
    }),
    patience
  )

/**
 * Tries to send a text until there is a server, and says once that it will. What is sent needs a key: a server that went away
 * may have it.
 */
export const onceBack = <A, R>(
  sending: Effect.Effect<A, BackendError, R>,
  text: string,
  { model, touch }: Pick<Acting, "model" | "touch">
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
