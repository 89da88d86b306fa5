/** Who holds a tree of sessions, as stored. */
import type { SessionID } from "@skein/domain/Id"

/** Who holds a tree of sessions, as successive commits record it. */
export interface Lease {
  readonly rootID: SessionID
  /** The process that holds it. */
  readonly owner: string
  /** Counts how often the tree was acquired: no two holders share a number. */
  readonly epoch: number
}

/** The stored state of a lease. A tree that nobody holds has no owner. */
export interface StoredLease {
  readonly owner: string | undefined
  /** The epoch of the last holder; 0 if nobody ever held it. */
  readonly epoch: number
  /**
   * When it expires unless it is renewed, in milliseconds since 1970 on the clock of the storage; 0 if nobody holds it.
   */
  readonly until: number
  /** How far away that was when it was read, in milliseconds on the same clock; 0 if it has expired. */
  readonly left: number
}

/** How long a lease lasts, in milliseconds, while its holder renews it in time. */
export const leaseLength = 3_000

/** How long one lasts at most, in milliseconds: a holder that is slow takes longer leases. */
export const longestOwn = 8_000

/** How long a lease of any version lasts at most, in milliseconds: processes of an older one take longer leases. */
const longestLease = 15_000

/**
 * Whether a lease has expired by its clock. One that ends later than possible was written before that clock was set
 * back.
 */
export const isOver = ({ left }: StoredLease): boolean => left === 0 || left > longestLease
