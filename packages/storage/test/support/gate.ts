/** Blocks effects at a known point. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

/** A gate that blocks effects until it is open. */
export const gate = Effect.gen(function*() {
  const reached = yield* Deferred.make<void>()
  const open = yield* Deferred.make<void>()
  return {
    reached: Deferred.await(reached),
    open: Deferred.succeed(open, undefined),
    pass: Effect.zipRight(Deferred.succeed(reached, undefined), Deferred.await(open))
  }
})

/** Starts an effect, and continues once it waits at the gate. */
export const ask = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    const started = yield* Deferred.make<void>()
    const fiber = yield* Effect.fork(Effect.zipRight(Deferred.succeed(started, undefined), effect))
    yield* Deferred.await(started)
    return fiber
  })
