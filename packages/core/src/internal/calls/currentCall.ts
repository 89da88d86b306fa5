/** Which call of a tool a fiber works for: what it waits for then counts as waiting of that call. */
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import type { Call } from "../../Governor.ts"
import type { ToolCaller } from "../../Tool.ts"

/** A call, as what it runs knows of it. */
export interface CurrentCall extends Call {
  readonly caller: ToolCaller
  /** Lets the clocks of the session and of all above it stand still while a person is asked. */
  readonly whileAsking: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** The call that a fiber works for; undefined outside of all calls. */
export const currentCall = FiberRef.unsafeMake<CurrentCall | undefined>(undefined)

/** A call's place among those of its step that are at work: it is left while the call waits for others. */
export const makePlace = (permits: Effect.Semaphore) => {
  let holds = false
  let waits = 0
  const take = Effect.uninterruptibleMask((restore) =>
    Effect.map(restore(permits.take(1)), () => {
      holds = true
    })
  )
  const leave = Effect.suspend(() => {
    if (!holds) return Effect.void
    holds = false
    return permits.release(1)
  })
  return {
    /** Works as soon as there is a place. */
    work: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.ensuring(Effect.zipRight(take, effect), leave),
    /** Waits without a place, and needs one again when nothing of the call waits any more. */
    waiting: <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.suspend(() => {
          waits++
          return Effect.flatMap(Effect.exit(Effect.zipRight(leave, restore(effect))), (exit) => {
            waits--
            return waits > 0 ? exit : Effect.zipRight(restore(take), exit)
          })
        })
      )
  }
}
