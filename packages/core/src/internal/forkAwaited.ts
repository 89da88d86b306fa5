/** Keeps fibers whose errors are read from being logged as unhandled. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** Forks fibers that are awaited: the awaiting code reports their errors, with what failed. */
export const forkAwaited = <A, E, R>(fork: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withUnhandledErrorLogLevel(fork, Option.none())
