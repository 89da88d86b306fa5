/** Owns one connection to a SQLite file. */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
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

/** The maximum number of prepared statements: eight tables by the sizes of an insert, and the queries. */
const mostPrepared = 200

/** A prepared statement: `run` takes its parameters from the list at the moment in which it runs. */
interface Prepared {
  readonly params: Array<unknown>
  readonly run: ReturnType<Connection["executeUnprepared"]>
}

/**
 * The same connection, with prepared statements that take few operations of Effect to run. The client looks each one up in a
 * cache of Effect's, which costs several times as much as the statement.
 */
const preparing = (client: Connection): Connection => {
  const known = new Map<string, Prepared>()
  const prepare = (sql: string): Prepared => {
    const params: Array<unknown> = []
    const made = { params, run: client.executeUnprepared(sql, params, undefined) }
    const [oldest] = known.size < mostPrepared ? [] : known.keys()
    if (oldest !== undefined) known.delete(oldest)
    known.set(sql, made)
    return made
  }
  const run = (statement: Prepared, params: ReadonlyArray<unknown>) => {
    statement.params.length = 0
    for (const param of params) statement.params.push(param)
    return statement.run
  }
  return {
    ...client,
    execute: (sql, params, transform) => {
      const rows = Effect.suspend(() => {
        const found = known.get(sql)
        if (found !== undefined) return run(found, params)
        const made = Effect.try({
          try: () => prepare(sql),
          catch: (cause) => new SqlError({ cause, message: "Failed to prepare statement" })
        })
        return Effect.flatMap(made, (statement) => run(statement, params))
      })
      return transform === undefined ? rows : Effect.map(rows, transform)
    }
  }
}

/** Opens a file until the scope closes. Only the first statement reads it. */
export const connect = (file: string): Effect.Effect<Connection, StorageError, Scope.Scope> =>
  // WAL is a property of the file, set when it is created. Setting it here would fail while another process holds a
  // lock.
  SqliteClient.make({ filename: file, disableWAL: true }).pipe(
    Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make),
    // Reserved permanently: `ReadWriteLock` decides who uses it, at a fraction of the cost.
    Effect.flatMap((client) => Effect.mapError(client.reserve, (error) => sqlite(file).explain("open", error))),
    Effect.map(preparing),
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
