/**
 * Finds trees with unfinished work that nobody works in, and takes them up. No notification has to arrive for that: who died,
 * froze or left is noticed by its leases.
 */
import { Leases } from "@skein/core/Leases"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"

/** How often to look. */
const pace = "1 second"

/** How many looks a tree is left to the runner that the engine assigns it to. After that, any runner takes it up. */
const courtesy = 1

/** How many looks a tree is left alone that could not be taken up, because its directory is not here for example. */
const patience = 30

/** Looks for ever. `isMine` says what the engine assigns to this runner, `stay` tells the others that it is there. */
export const sweep = (options: {
  readonly isMine: (rootID: SessionID) => boolean
  readonly stay: Effect.Effect<void>
}) =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const leases = yield* Leases
    const session = yield* Session
    const taking = yield* FiberMap.make<SessionID>()
    /** In how many looks each tree was seen without a holder. */
    let waiting = new Map<SessionID, number>()
    /** For how many more looks trees are left alone. */
    const failed = new Map<SessionID, number>()

    const take = (rootID: SessionID) =>
      session.resume(rootID).pipe(
        Effect.tap(Effect.logInfo(`${rootID} was taken up: nobody worked in it`)),
        Effect.catchIf((error) => error._tag === "StorageError" && error.reason === "held", () => Effect.void),
        Effect.catchAll((error) => {
          failed.set(rootID, patience)
          return Effect.logWarning(`${rootID} could not be taken up`, error.message)
        })
      )

    const look = Effect.gen(function*() {
      const before = waiting
      waiting = new Map()
      for (const [rootID, looks] of failed) {
        if (looks > 1) failed.set(rootID, looks - 1)
        else failed.delete(rootID)
      }
      for (const rootID of yield* leases.due(yield* storage.unfinished)) {
        const looks = (before.get(rootID) ?? 0) + 1
        waiting.set(rootID, looks)
        if (!failed.has(rootID) && (options.isMine(rootID) || looks > courtesy)) {
          yield* FiberMap.run(taking, rootID, take(rootID), { onlyIfMissing: true })
        }
      }
    }).pipe(Effect.catchAll(({ message }) => Effect.logWarning("Trees without a holder could not be read", message)))

    return yield* Effect.forever(Effect.zipRight(Effect.zipRight(options.stay, look), Effect.sleep(pace)))
  }).pipe(Effect.scoped)
