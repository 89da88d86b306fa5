/** Decides for how long the lease of another process has stayed the same, as far as this process could see. */
import type { StoredLease } from "../../Lease.ts"
import { renewalInterval } from "./leasePace.ts"

/** What a waiting process has observed of another's lease. */
export interface Observed {
  readonly lease: StoredLease
  /** When it was last read, on the clock of `elapsed` (ms). */
  readonly at: number
  /** For how long it has stayed the same (ms). */
  readonly unchanged: number
  /** Whether it was renewed meanwhile. */
  readonly isRenewed: boolean
}

/** A late read counts for at most one renewal: this process may have been suspended together with the holder. */
export const observe = (lease: StoredLease, at: number, before: Observed | undefined): Observed => {
  if (before === undefined) return { lease, at, unchanged: 0, isRenewed: false }
  const isSame = before.lease.until === lease.until && before.lease.epoch === lease.epoch
  return {
    lease,
    at,
    unchanged: isSame ? before.unchanged + Math.min(at - before.at, renewalInterval) : 0,
    isRenewed: before.isRenewed || !isSame
  }
}
