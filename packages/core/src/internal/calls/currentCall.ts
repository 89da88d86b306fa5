/** The call that a fiber works for: while the fiber waits, the call counts as waiting. */
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import { FairSemaphore } from "../../Fibers.ts"
import type { Call } from "../../Governor.ts"
import type { ToolCaller } from "../../Tool.ts"
import type { Live } from "../live/Live.ts"

/** A call, as the code inside it sees it. */
export interface CurrentCall extends Call {
  readonly caller: ToolCaller
  /** Whether a process that has ended began it. */
  readonly resumes: boolean
  /** Pauses the clocks of the session and of all above it while a person is asked. */
  readonly whileAsking: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** The call that a fiber works for; undefined outside of all calls. */
export const currentCall = FiberRef.unsafeMake<CurrentCall | undefined>(undefined)

/** Pauses the clocks of a session and of all above it while a person is asked. */
export const whileAsking = <A, E, R>({ clock }: Live, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => clock.beginAsking()),
    () => effect,
    () => Effect.sync(() => clock.endAsking())
  )

/** The places for working calls of a step; undefined if there are enough for all of them. */
export const makePlaces = (calls: number, atOnce: number): FairSemaphore | undefined =>
  calls > atOnce ? new FairSemaphore(atOnce) : undefined

/** A call's place among the working calls of its step. The call leaves it while it waits for others. */
interface Place {
  /** Works as soon as there is a place. */
  readonly work: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Waits without a place, and takes one again once nothing of the call waits. */
  readonly waiting: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

const ownPlace: Place = { work: (effect) => effect, waiting: (effect) => effect }

/** Makes the place of a call. */
export const makePlace = (places: FairSemaphore | undefined): Place => {
  if (places === undefined) return ownPlace
  let holds = false
  let waits = 0
  const take = Effect.uninterruptibleMask((restore) =>
    Effect.map(places.take(restore), () => {
      holds = true
    })
  )
  const leave = Effect.suspend(() => {
    if (!holds) return Effect.void
    holds = false
    return places.release
  })
  return {
    work: (effect) => Effect.ensuring(Effect.zipRight(take, effect), leave),
    waiting: (effect) =>
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
