/** Owns the slots that a runner keeps for trees that move to it, and takes these trees up. */
import { Governor } from "@skein/core/Governor"
import { now as currentTime } from "@skein/core/MonotonicClock"
import type { StorageError } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Asked } from "./peers.ts"
import type { Place } from "./places.ts"
import type { TakeUp } from "./takeUp.ts"

/** How long slots are kept for a tree that may come, in milliseconds: a little longer than it may take. */
const keeping = 20_000

/** Makes them; `arrived` is called for a tree that comes now. */
export const makeArrivals = ({ arrived, placeOf, takes, takeUp }: {
  readonly placeOf: (rootID: SessionID) => Effect.Effect<Place, StorageError>
  readonly takeUp: TakeUp
  /** Whether this runner takes any tree. */
  readonly takes: boolean
  readonly arrived: (rootID: SessionID, now: number) => void
}) =>
  Effect.map(Governor, (governor) => {
    const kept = new Map<SessionID, { readonly slots: number; readonly until: number }>()

    /** The slots of this runner, of which those that are kept are taken. */
    const burden = Effect.zipWith(currentTime, governor.load, (now, { limit, wanted }) => {
      for (const [rootID, { until }] of kept) if (until <= now) kept.delete(rootID)
      return { limit, wanted: wanted + [...kept.values()].reduce((sum, { slots }) => sum + slots, 0) }
    })
    const room = Effect.map(burden, ({ limit, wanted }) => limit - wanted)

    const mayCome = (rootID: SessionID): Effect.Effect<boolean, StorageError> =>
      takes ? Effect.map(placeOf(rootID), ({ _tag }) => _tag === "Here") : Effect.succeed(false)

    /** Keeps slots for a tree that may come, if there is room. */
    const accept = (rootID: SessionID, slots: number) =>
      Effect.gen(function*() {
        if (!(yield* mayCome(rootID))) return undefined
        // From here on in one step: two trees must not get the same slots.
        if ((yield* room) < slots) return undefined
        kept.set(rootID, { slots, until: (yield* currentTime) + keeping })
        return {}
      })

    /** Takes a tree up for which slots are kept. */
    const take = (rootID: SessionID) =>
      Effect.gen(function*() {
        if (!kept.has(rootID)) return undefined
        arrived(rootID, yield* currentTime)
        const taking = Effect.flatMap(Clock.currentTimeMillis, (now) => takeUp(rootID, now))
        return yield* taking.pipe(
          Effect.as({}),
          Effect.orElseSucceed(() => undefined),
          Effect.ensuring(Effect.sync(() => kept.delete(rootID)))
        )
      })

    return {
      burden,
      /** How many more agents can work here. */
      room,
      /** Does what another runner asks; undefined if this one refuses. */
      answer: (asked: Asked): Effect.Effect<object | undefined, StorageError> => {
        switch (asked._tag) {
          case "Room":
            return Effect.zipWith(mayCome(asked.rootID), room, (may, free) => ({ may, room: free }))
          case "Offer":
            return accept(asked.rootID, asked.slots)
          case "Take":
            return take(asked.rootID)
        }
      }
    }
  })
