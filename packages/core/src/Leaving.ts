/** Lets callers leave at once, while what they asked for ends by itself: a statement keeps a connection that others need. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"

/** Runs an effect. If its caller is interrupted, so is the effect, but the caller does not wait for its end. */
export type Leaving = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>

/** Makes it. What was left ends before the scope closes. */
export const makeLeaving: Effect.Effect<Leaving, never, Scope.Scope> = Effect.map(
  Effect.scope,
  (scope) => (effect) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(
        // The caller gets its errors.
        Effect.withUnhandledErrorLogLevel(Effect.forkIn(restore(effect), scope), Option.none()),
        (fiber) =>
          Effect.onInterrupt(
            restore(Fiber.join(fiber)),
            () => Effect.fiberIdWith((id) => Fiber.interruptAsFork(fiber, id))
          )
      )
    )
)
