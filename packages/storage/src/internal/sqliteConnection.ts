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
  // A transaction that only begins to write later fails at once, whatever the timeout, when another one wrote meanwhile.
  begin: "BEGIN IMMEDIATE",
  // The clock of the machine, which all who have access to the file share.
  now: "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)",
  share: "",
  explain: (operation, error) =>
    Option.getOrElse(
      explainCause(operation, file, error.cause),
      () => fileError(operation, "other", file, String(error.cause))
    )
})

/** Statements that are kept prepared: eight tables by six sizes of insert, and the queries. */
const prepareCacheSize = 200

/** Opens a file and closes it with the scope. The first statement, not this, is what reads it. */
export const connect = (file: string): Effect.Effect<Connection, StorageError, Scope.Scope> =>
  // WAL is a property of the file and set when it is made; here it would fail while another process holds a lock.
  SqliteClient.make({ filename: file, prepareCacheSize, disableWAL: true }).pipe(
    Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make),
    // Reserved for as long as it lives: `Turns` decides who uses it, at a fraction of the cost.
    Effect.flatMap((client) => Effect.mapError(client.reserve, (error) => sqlite(file).explain("open", error))),
    // The client lets whatever better-sqlite3 throws escape as a defect.
    Effect.catchAllDefect((defect) =>
      Option.match(explainCause("open", file, defect), { onNone: () => Effect.die(defect), onSome: Effect.fail })
    )
  )

/** Runs a statement while a file is opened or made. */
export const execute = (
  connection: Connection,
  file: string,
  sql: string,
  params: ReadonlyArray<Value> = []
): Effect.Effect<ReadonlyArray<Readonly<Record<string, unknown>>>, StorageError> =>
  Effect.mapError(connection.execute(sql, params, undefined), (error) => sqlite(file).explain("open", error))
