/** Ends the commands that others left in trees. Trees that come together are looked for together. */
import type { SessionID } from "@skein/domain/Id"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { endedInTime } from "../processes.ts"
import { killTrees } from "./processMarks.ts"

/** Trees whose commands are about to be ended. */
interface Batch {
  readonly rootIDs: Set<SessionID>
  readonly over: Deferred.Deferred<void>
}

/** Makes what ends the commands of a tree. It completes when they have ended, or after a second. */
export const makeEvictions = (): (rootID: SessionID) => Effect.Effect<void> => {
  let next: Batch | undefined

  const lead = (batch: Batch) =>
    Effect.yieldNow().pipe(
      Effect.zipRight(Effect.suspend(() => {
        next = undefined
        return endedInTime(killTrees(batch.rootIDs))
      })),
      Effect.intoDeferred(batch.over),
      Effect.uninterruptible
    )

  return (rootID) =>
    Effect.gen(function*() {
      const found = next
      found?.rootIDs.add(rootID)
      if (found !== undefined) return yield* Deferred.await(found.over)
      const batch: Batch = { rootIDs: new Set([rootID]), over: yield* Deferred.make<void>() }
      next = batch
      yield* lead(batch)
    })
}
