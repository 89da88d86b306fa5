/** A connection to a database, and the differences between the SQL of the two databases. */
import type * as SqlConnection from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import type { Value } from "./tables.ts"

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

/** Reads rows with a statement whose parameters are written `?`. */
export type Select = <Row>(
  operation: string,
  sql: string,
  params: ReadonlyArray<Value>
) => Effect.Effect<ReadonlyArray<Row>, StorageError>

/** Runs several reads in one snapshot. */
export type Snapshot = <A>(use: (select: Select) => Effect.Effect<A, StorageError>) => Effect.Effect<A, StorageError>

/** Makes the reader of a connection. */
export const makeSelect = (connection: Connection, dialect: Dialect): Select => (operation, sql, params) =>
  Effect.mapError(
    connection.execute(dialect.text(sql), params, undefined),
    (error) => dialect.explain(operation, error)
  )

/** Conditions on columns; those with an undefined value are left out. */
export const where = (
  columns: Readonly<Record<string, Value | undefined>>,
  ...more: ReadonlyArray<string>
): { readonly sql: string; readonly params: ReadonlyArray<Value> } => {
  const given = Object.entries(columns).flatMap(([column, value]) => (value === undefined ? [] : [{ column, value }]))
  const tests = [...given.map(({ column }) => `${column} = ?`), ...more]
  return { sql: tests.length === 0 ? "" : `WHERE ${tests.join(" AND ")}`, params: given.map(({ value }) => value) }
}
