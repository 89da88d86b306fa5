/** What differs from one SQL database to the next. */
import type { SqlError } from "@effect/sql/SqlError"
import type { StorageError } from "@skein/core/StorageError"

/** A database as the rest of the package sees it. */
export interface Dialect {
  /** A statement whose parameters are written `?`, as this database wants it. */
  readonly text: (sql: string) => string
  /** Begins a transaction that will write: it must take its lock at once, or a later statement could lose to another. */
  readonly begin: string
  /** Says what went wrong and how to mend it. */
  readonly explain: (operation: string, error: SqlError) => StorageError
}
