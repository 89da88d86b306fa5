/** Provides the same services to many effects. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { unsafeCoerce } from "effect/Function"

/**
 * Provides effects with these services, as `Effect.provide` does. That copies all services each time; here, fibers with
 * the same services share a copy, which matters where thousands of them wait.
 */
export const providing = <S>(services: Context.Context<S>) => {
  const copies = new WeakMap<Context.Context<never>, Context.Context<S>>()
  const over = (own: Context.Context<never>): Context.Context<S> => {
    const known = copies.get(own)
    if (known !== undefined) return known
    const copy = Context.merge(own, services)
    copies.set(own, copy)
    return copy
  }
  return <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, S>> =>
    Effect.mapInputContext(
      effect,
      // What the effect needs besides these services, it finds in those of its fiber.
      (own: Context.Context<Exclude<R, S>>) => unsafeCoerce<Context.Context<S>, Context.Context<R>>(over(own))
    )
}
