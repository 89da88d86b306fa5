/** What the port needs of a SQL database. */
import type * as SqlConnection from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import type { StorageError } from "@skein/core/StorageError"
import type * as Effect from "effect/Effect"
import type { Select, Snapshot } from "./select.ts"
import type { Within } from "./transaction.ts"

/** A connection, as far as it is used here. */
export type Connection = Pick<SqlConnection.Connection, "execute">

/** How one database differs from the next. */
export interface Dialect {
  /** A statement whose parameters are written `?`, as this database wants it. */
  readonly text: (sql: string) => string
  /** Begins a transaction that will write: it must take its lock at once, or a later statement could lose to another. */
  readonly begin: string
  /** The time on the clock of the database, in milliseconds since 1970. */
  readonly now: string
  /** Put behind a SELECT: the rows that it reads stay as they are until the transaction ends. */
  readonly share: string
  /** Says what went wrong and how to mend it. */
  readonly explain: (operation: string, error: SqlError) => StorageError
}

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
