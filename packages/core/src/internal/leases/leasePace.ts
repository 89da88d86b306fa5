/** Decides how often leases are renewed, and how long they are: longer while this process renews them late. */
import type * as Clock from "effect/Clock"
import { leaseLength, longestOwn } from "../../Lease.ts"
import { elapsed } from "../../MonotonicClock.ts"

/** How often leases are renewed (ms). */
export const renewalInterval = 1_000

/** How much longer a lease is for each millisecond by which renewals were late: the next ones may be later still. */
const caution = 3

/** From here on, more delay makes leases no longer (ms). */
const mostLate = (longestOwn - leaseLength) / caution

/** The pace of a process. */
export interface LeasePace {
  /** How long a lease has to be now (ms). */
  readonly length: () => number
  /** To be called after each round of renewals, also a failed one. */
  readonly roundEnded: () => void
}

/** Makes it. Delays count half as much after each further round. */
export const makeLeasePace = (clock: Clock.Clock): LeasePace => {
  let late = 0
  let last = elapsed(clock)
  return {
    length: () => leaseLength + Math.round(caution * late),
    roundEnded: () => {
      const now = elapsed(clock)
      late = Math.min(mostLate, Math.max(now - last - renewalInterval, late / 2))
      last = now
    }
  }
}
