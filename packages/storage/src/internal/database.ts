/** What the port needs from a SQL database. */
import type { StorageError } from "@skein/core/StorageError"
import type * as Effect from "effect/Effect"
import type { Connection, Dialect } from "./dialect.ts"
import type { RenewOp } from "./op.ts"
import type { Select, Snapshot } from "./select.ts"
import type { Within } from "./transaction.ts"

/** An open database. */
export interface Database {
  readonly dialect: Dialect
  /** The connection for reads and writes, which nobody else uses. */
  readonly connection: Connection
  /** Makes transactions; if absent, they run on that connection, which reads share with them. */
  readonly transactions?: {
    readonly within: Within
    /** Reads that do not wait for transactions, and see every acknowledged commit. */
    readonly read: Select
    readonly snapshot: Snapshot
  }
  /** Renews leases without waiting for commits; if absent, they are renewed before the commits that wait. */
  readonly renew?: (ops: ReadonlyArray<RenewOp>) => Effect.Effect<void, StorageError>
  /** Changes whenever another process has committed; absent if no other process can. */
  readonly othersVersion?: Effect.Effect<unknown, StorageError>
  /** Fails if the database no longer exists at its address; absent if that is impossible. */
  readonly intact?: Effect.Effect<void, StorageError>
  /** Makes commits durable. */
  readonly flush: Effect.Effect<void, StorageError>
  /** Writes the latest commits anew before the next flush: after one that failed, the system may take them for written. */
  readonly rewrite?: Effect.Effect<void, StorageError>
}
