/** Logs what happens to the trees whose work stopped here because the storage was away. */
import { Leases } from "@skein/core/Leases"
import { now as currentTime } from "@skein/core/MonotonicClock"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"

/** How long trees may take to be taken up before they are reported as waiting, in milliseconds. */
const patience = 20_000

/** How many trees continue where. */
interface Counts {
  readonly here: number
  readonly elsewhere: number
  readonly waiting: number
  readonly done: number
}

const some = (count: number, one: string, several: string): ReadonlyArray<string> =>
  count === 0 ? [] : [`${count} ${count === 1 ? one : several}`]

/** The line of the log. */
const outageText = ({ done, elsewhere, here, waiting }: Counts): string => {
  const all = here + elsewhere + waiting + done
  return `The storage is back. Of ${all === 1 ? "one tree" : `${all} trees`} whose work had stopped here: ${
    [
      ...some(here, "continues here", "continue here"),
      ...some(elsewhere, "continues at another server", "continue at other servers"),
      ...some(waiting, "still waits", "still wait"),
      ...some(done, "had nothing left to do", "had nothing left to do")
    ].join(", ")
  }.`
}

/** Makes what gets each look at the trees with unfinished work, and at those of them that nobody holds. */
export const makeAfterOutage = Effect.map(Leases, (leases) => {
  const stopped = new Set<SessionID>()
  let since: number | undefined
  leases.onOutage((rootIDs) => {
    for (const rootID of rootIDs) stopped.add(rootID)
    since = undefined
  })
  return (unfinished: ReadonlyArray<SessionID>, free: ReadonlyArray<SessionID>): Effect.Effect<void> =>
    Effect.gen(function*() {
      if (stopped.size === 0) return
      const now = yield* currentTime
      // What ends here at the first look is held by nobody, and is not free yet.
      if (since === undefined) {
        since = now
        return
      }
      const waiting = free.filter((rootID) => stopped.has(rootID)).length
      if (waiting > 0 && now - since < patience) return
      const rest = unfinished.filter((rootID) => stopped.has(rootID))
      const here = rest.filter((rootID) => leases.epoch(rootID) > 0).length
      const counts = { here, waiting, elsewhere: rest.length - here - waiting, done: stopped.size - rest.length }
      stopped.clear()
      yield* Effect.logInfo(outageText(counts))
    })
})
