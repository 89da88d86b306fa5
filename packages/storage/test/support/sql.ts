/** Reads or damages a database without the port. */
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

/** Runs a statement on a separate connection. */
export const sql = <Row extends object>(filename: string, text: string) =>
  Effect.flatMap(SqlClient.SqlClient, (client) => client.unsafe<Row>(text)).pipe(
    Effect.provide(SqliteClient.layer({ filename, disableWAL: true })),
    Effect.orDieWith((error) => new Error(`${text}: ${String(error)}`))
  )

/** Runs statements one after the other on one connection. */
export const statements = (filename: string, texts: ReadonlyArray<string>) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (client) =>
      Effect.forEach(texts, (text) =>
        Effect.orDieWith(client.unsafe(text), (error) => new Error(`${text}: ${String(error)}`)), { discard: true })
  ).pipe(
    Effect.provide(SqliteClient.layer({ filename, disableWAL: true }))
  )

/** SQLite's report on the integrity of a file: `ok`. */
export const integrity = (filename: string) =>
  Effect.map(
    sql<{ readonly integrity_check: string }>(filename, "PRAGMA integrity_check"),
    ([row]) => row?.integrity_check
  )
