/**
 * Finds trees with unfinished work that nobody works in, and takes them up. No notification has to arrive for that: who died,
 * froze or left is noticed by its leases.
 */
import { Governor } from "@skein/core/Governor"
import { Leases } from "@skein/core/Leases"
import { SessionStorage } from "@skein/core/SessionStorage"
import { isOutage } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import type { Bring } from "./bring.ts"
import type { Places } from "./places.ts"
import type { TakeUp } from "./takeUp.ts"

/** How often to look. */
const pace = "500 millis"

/** How many looks a tree is left to the runner that the engine assigns it to. After that, any runner takes it up. */
const courtesy = 1

/** How many looks a tree is left to others while no more agents can work here. */
const modesty = 10

/** How many looks a tree is left alone that could not be taken up, because its directory is not here for example. */
const patience = 60

/** Moves a tree here, if its steps are kept for that; whether it can be taken up here now. */
const brought = (bring: Bring, rootID: SessionID) =>
  bring(rootID).pipe(
    Effect.catchIf((error) => error.reason === "held", () => Effect.succeed(false)),
    Effect.catchAll(({ message }) => Effect.as(Effect.logWarning(`${rootID} could not be moved here`, message), false))
  )

/**
 * Looks for ever. `isMine` says what the engine assigns to this runner, `stay` tells the others that it is there, and `hasLeft`
 * which trees another runner is taking from this one.
 */
export const sweep = (options: {
  readonly isMine: (rootID: SessionID) => boolean
  readonly stay: Effect.Effect<void>
  readonly takeUp: TakeUp
  readonly hasLeft: (rootID: SessionID) => Effect.Effect<boolean>
  readonly places: Places
  readonly bring: Bring
}) =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const leases = yield* Leases
    const governor = yield* Governor
    const taking = yield* FiberMap.make<SessionID>()
    /** In how many looks each tree was seen without a holder, and since when. */
    let waiting = new Map<SessionID, { readonly looks: number; readonly since: number }>()
    /** For how many more looks trees are left alone. */
    const failed = new Map<SessionID, number>()

    const takeHere = (rootID: SessionID, since: number) =>
      Effect.catchAll(options.takeUp(rootID, since), (error) =>
        // Once the storage is back, the next look finds the tree.
        Effect.sync(() =>
          error._tag === "StorageError" && isOutage(error) ? undefined : void failed.set(rootID, patience)
        ))

    /** Its files may be kept elsewhere. */
    const bring = (rootID: SessionID, since: number, waits: Effect.Effect<void>) =>
      Effect.flatMap(brought(options.bring, rootID), (isHere) =>
        isHere ? Effect.zipRight(options.places.over(rootID), takeHere(rootID, since)) : waits)

    const take = (rootID: SessionID, since: number) =>
      options.places.of(rootID).pipe(
        Effect.catchAll(({ message }) =>
          Effect.as(Effect.logWarning(`${rootID} could not be read`, message), undefined)
        ),
        Effect.flatMap((place) => {
          // Before it works, so that its own status comes after.
          if (place?._tag === "Here") return Effect.zipRight(options.places.over(rootID), takeHere(rootID, since))
          failed.set(rootID, place?._tag === "Away" ? patience : courtesy)
          if (place?._tag !== "Away") return place === undefined ? Effect.void : options.places.over(rootID)
          const waits = options.places.waits(rootID, place)
          return place.isKept === true ? bring(rootID, since, waits) : waits
        })
      )

    const look = Effect.gen(function*() {
      const before = waiting
      const now = yield* Clock.currentTimeMillis
      waiting = new Map()
      for (const [rootID, looks] of failed) {
        if (looks > 1) failed.set(rootID, looks - 1)
        else failed.delete(rootID)
      }
      const { limit, wanted } = yield* governor.load
      const isFull = wanted >= limit
      const free = yield* leases.due(yield* storage.unfinished)
      yield* options.places.keep(new Set(free))
      for (const rootID of free) {
        const { looks: earlier, since } = before.get(rootID) ?? { looks: 0, since: now }
        const looks = earlier + 1
        waiting.set(rootID, { looks, since })
        const isWelcome = isFull ? looks > modesty : options.isMine(rootID) || looks > courtesy
        if (!failed.has(rootID) && isWelcome && !(yield* options.hasLeft(rootID))) {
          yield* FiberMap.run(taking, rootID, take(rootID, since), { onlyIfMissing: true })
        }
      }
    }).pipe(Effect.catchAll(({ message }) => Effect.logWarning("Trees without a holder could not be read", message)))

    return yield* Effect.forever(Effect.zipRight(Effect.zipRight(options.stay, look), Effect.sleep(pace)))
  }).pipe(Effect.scoped)
