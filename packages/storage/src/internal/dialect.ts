/** A connection to a database, and the differences between the SQL of the two databases. */
import type * as SqlConnection from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import type { StorageError } from "@skein/core/StorageError"

/** The part of a connection that is used here. */
export type Connection = Pick<SqlConnection.Connection, "execute">

/** The dialect of a database. */
export interface Dialect {
  /** Converts a statement with `?` parameters to the syntax of this database. */
  readonly text: (sql: string) => string
  /**
   * Begins a transaction that will write. It must take its lock immediately, or a later statement could fail because of
   * another transaction.
   */
  readonly begin: string
  /** The time on the clock of the database, in milliseconds since 1970. */
  readonly now: string
  /** Appended to a SELECT: locks the rows that it reads until the transaction ends. */
  readonly share: string
  /** A text as JSON writes it. */
  readonly json: (text: string) => string
  /** Explains what went wrong and how to fix it. */
  readonly explain: (operation: string, error: SqlError) => StorageError
}
