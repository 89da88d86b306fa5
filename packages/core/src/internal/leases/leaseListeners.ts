/** Tells those who listen what happens to leases; `Leases` describes each case. */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"

type Told = (rootID: SessionID) => Effect.Effect<void>

/** Makes it. */
export const makeLeaseListeners = () => {
  const stale: Array<Told> = []
  const released: Array<Told> = []
  const renewed: Array<(rootID: SessionID, left: number) => void> = []
  const takenOver: Array<(rootID: SessionID, from: string | undefined) => void> = []
  const outage: Array<(rootIDs: ReadonlyArray<SessionID>) => void> = []
  return {
    /** What listeners call. */
    register: {
      onStale: (forget: Told) => void stale.push(forget),
      onReleased: (notify: Told) => void released.push(notify),
      onRenewed: (notify: (rootID: SessionID, left: number) => void) => void renewed.push(notify),
      onTakenOver: (notify: (rootID: SessionID, from: string | undefined) => void) => void takenOver.push(notify),
      onOutage: (notify: (rootIDs: ReadonlyArray<SessionID>) => void) => void outage.push(notify)
    },
    stale: (rootID: SessionID) => Effect.forEach(stale, (forget) => forget(rootID), { discard: true }),
    released: (rootID: SessionID) => Effect.forEach(released, (notify) => notify(rootID), { discard: true }),
    takenOver: (rootID: SessionID, from: string | undefined): void => {
      for (const notify of takenOver) notify(rootID, from)
    },
    renewed: (rootID: SessionID, left: number): void => {
      for (const notify of renewed) notify(rootID, left)
    },
    outage: (rootIDs: ReadonlyArray<SessionID>): void => {
      for (const notify of outage) notify(rootIDs)
    }
  }
}
