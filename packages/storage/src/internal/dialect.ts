/** A connection to a database, and how the SQL of the two databases differs. */
import type * as SqlConnection from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import type { StorageError } from "@skein/core/StorageError"

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
  /** Says what went wrong and how to fix it. */
  readonly explain: (operation: string, error: SqlError) => StorageError
}
