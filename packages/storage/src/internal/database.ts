/** What the port needs of a SQL database. */
import type { StorageError } from "@skein/core/StorageError"
import type * as Effect from "effect/Effect"
import type { Connection, Dialect } from "./dialect.ts"
import type { Select, Snapshot } from "./select.ts"
import type { Within } from "./transaction.ts"

/** An open database. */
export interface Database {
  readonly dialect: Dialect
  /** A connection that nobody else uses. */
  readonly connection: Connection
  /** Makes transactions; absent where they are made on that connection, which reads share with them. */
  readonly transactions?: {
    readonly within: Within
    /** Reads that need not wait for one, and see what was acknowledged. */
    readonly read: Select
    readonly snapshot: Snapshot
  }
  /** Changes whenever another process has committed something; absent where no other can. */
  readonly othersVersion?: Effect.Effect<unknown, StorageError>
  /** Fails where the database is no longer where others look for it; absent where that cannot be. */
  readonly intact?: Effect.Effect<void, StorageError>
  /** Makes durable what was committed. */
  readonly flush: Effect.Effect<void, StorageError>
}
