/** Runs read statements. */
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import type { Connection, Dialect } from "./dialect.ts"
import type { Value } from "./tables.ts"

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
