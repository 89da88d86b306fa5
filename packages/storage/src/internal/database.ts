/** What the port needs of a SQL database. */
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import type { StorageError } from "@skein/core/StorageError"
import type * as Effect from "effect/Effect"

/** How one database differs from the next. */
export interface Dialect {
  /** A statement whose parameters are written `?`, as this database wants it. */
  readonly text: (sql: string) => string
  /** Begins a transaction that will write: it must take its lock at once, or a later statement could lose to another. */
  readonly begin: string
  /** Says what went wrong and how to mend it. */
  readonly explain: (operation: string, error: SqlError) => StorageError
}

/** An open database. */
export interface Database {
  readonly dialect: Dialect
  /** A connection that nobody else uses. */
  readonly connection: Connection
  /** Changes whenever another process has committed something; absent where no other can. */
  readonly othersVersion?: Effect.Effect<unknown, StorageError>
  /** Makes durable what was committed. */
  readonly flush: Effect.Effect<void, StorageError>
}
