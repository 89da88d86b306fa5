/** Notes when an effect begins and ends. */
import * as Effect from "effect/Effect"

/**
 * Calls `begin` before an effect, and `end` after it, however it ended; then runs `after`. `Effect.acquireUseRelease` is
 * not used, because it keeps much more while the effect waits.
 */
export const bracketed = <A, E, R>(
  begin: () => void,
  effect: Effect.Effect<A, E, R>,
  end: () => void,
  after: Effect.Effect<void> = Effect.void
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() => {
      begin()
      const ended = (exit: Effect.Effect<A, E>): Effect.Effect<A, E> => {
        end()
        return after === Effect.void ? exit : Effect.zipRight(restore(after), exit)
      }
      return Effect.matchCauseEffect(restore(effect), {
        onFailure: (cause) => ended(Effect.failCause(cause)),
        onSuccess: (value) => ended(Effect.succeed(value))
      })
    })
  )
