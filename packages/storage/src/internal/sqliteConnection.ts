/** Owns one connection to a SQLite file. */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Dialect } from "./dialect.ts"
import { explainCause, fileError } from "./sqliteError.ts"
import type { Value } from "./tables.ts"

/** SQLite in this file. */
export const sqlite = (file: string): Dialect => ({
  text: identity,
  // A transaction that begins as a reader fails immediately, whatever the timeout, if another one wrote meanwhile.
  begin: "BEGIN IMMEDIATE",
  // The clock of the machine, which all processes with access to the file share.
  now: "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)",
  share: "",
  json: (text) => `json_quote(${text})`,
  explain: (operation, error) =>
    Option.getOrElse(
      explainCause(operation, file, error.cause),
      () => fileError(operation, "other", file, String(error.cause))
    )
})

/** The number of prepared statements: eight tables by six sizes of insert, and the queries. */
const prepareCacheSize = 200

/** Opens a file until the scope closes. Only the first statement reads it. */
export const connect = (file: string): Effect.Effect<Connection, StorageError, Scope.Scope> =>
  // WAL is a property of the file, set when it is created. Setting it here would fail while another process holds a
  // lock.
  SqliteClient.make({ filename: file, prepareCacheSize, disableWAL: true }).pipe(
    Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make),
    // Reserved permanently: `ReadWriteLock` decides who uses it, at a fraction of the cost.
    Effect.flatMap((client) => Effect.mapError(client.reserve, (error) => sqlite(file).explain("open", error))),
    // The client turns every error of better-sqlite3 into a defect.
    Effect.catchAllDefect((defect) =>
      Option.match(explainCause("open", file, defect), { onNone: () => Effect.die(defect), onSome: Effect.fail })
    )
  )

/** Runs a statement, by default while a file is opened or created. */
export const execute = (
  connection: Connection,
  file: string,
  sql: string,
  params: ReadonlyArray<Value> = [],
  operation = "open"
): Effect.Effect<ReadonlyArray<Readonly<Record<string, unknown>>>, StorageError> =>
  Effect.mapError(connection.execute(sql, params, undefined), (error) => sqlite(file).explain(operation, error))
