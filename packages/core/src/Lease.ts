/** Who holds a tree of sessions, as it is stored. */
import type { SessionID } from "@skein/domain/Id"

/** Who holds a tree of sessions, as one commit after the other says. */
export interface Lease {
  readonly rootID: SessionID
  /** The process that holds it. */
  readonly owner: string
  /** Counts how often the tree was taken hold of: two holders never have the same. */
  readonly epoch: number
}

/** What is stored of who holds a tree; a tree that nobody holds has no owner. */
export interface StoredLease {
  readonly owner: string | undefined
  /** Of the last one who took hold; 0 where nobody ever did. */
  readonly epoch: number
  /** When it ends unless it is renewed, in milliseconds since 1970 on the clock of the storage; 0 where nobody holds it. */
  readonly until: number
  /** How long that was ahead when it was read, in milliseconds by the same clock; 0 where it is over. */
  readonly left: number
}

/** For how long a tree is held at a time, in milliseconds. */
export const leaseLength = 15_000

/** Whether a lease is over by its clock. One that ends later than any can is from before that clock was set back. */
export const isOver = ({ left }: StoredLease): boolean => left === 0 || left > leaseLength
