/** Says when the storage goes away and when it is back: to listeners, and in the log, where a long outage is a few lines. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { StorageHealth, StorageTrouble } from "../../StorageHealth.ts"
import { pace, type StorageWatch } from "./storageWatch.ts"

/** How often the log repeats that the storage is still away, in milliseconds. */
const repetition = 30_000

const inSeconds = (milliseconds: number): string => `${Math.round(milliseconds / 1_000)} s`

/** Makes the service. A storage that only this process can reach does not go away, and needs no look. */
export const makeHealth = (
  watch: StorageWatch,
  isWatched: boolean
): Effect.Effect<Context.Tag.Service<StorageHealth>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const clock = yield* Effect.clock
    const listeners = new Set<(trouble: StorageTrouble | undefined) => void>()
    let trouble: StorageTrouble | undefined
    let longest = 0
    let logged = 0
    const look = Effect.suspend(() => {
      const away = watch.look()
      if (away === 0 && longest === 0) return Effect.void
      const before = longest
      longest = away
      trouble = away === 0 ? undefined : { since: clock.unsafeCurrentTimeMillis() - away }
      if (away === 0) {
        for (const notify of [...listeners]) notify(undefined)
        return Effect.logInfo(`The storage answers again, after ${inSeconds(before)}`)
      }
      if (before === 0) {
        logged = away
        for (const notify of [...listeners]) notify(trouble)
        return Effect.logWarning("The storage does not answer: work waits for it, and is repeated")
      }
      if (away - logged < repetition) return Effect.void
      logged = away
      return Effect.logWarning(`The storage has not answered for ${inSeconds(away)}`)
    })
    if (isWatched) yield* Effect.forkScoped(Effect.forever(Effect.zipRight(Effect.sleep(pace), look)))
    return {
      trouble: () => trouble,
      onChange: (notify) => {
        listeners.add(notify)
        return () => void listeners.delete(notify)
      }
    }
  })
