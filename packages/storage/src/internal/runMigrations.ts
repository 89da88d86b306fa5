/** Runs the Migrator of `@effect/sql` inside a transaction of its caller. */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as Migrator from "@effect/sql/Migrator"
import * as SqlClient from "@effect/sql/SqlClient"
import type * as SqlConnection from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import type { Compiler } from "@effect/sql/Statement"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Stream from "effect/Stream"
import type { Connection } from "./dialect.ts"

/** The table in which the Migrator records what it has applied. */
const table = "skein_migration"

/**
 * A connection on which transaction statements do nothing, because the caller's transaction is already open. The
 * Migrator would die of a failed COMMIT, and SQLite drops a SAVEPOINT when it rolls back a transaction by itself, as
 * for a full disk.
 */
const insideTransaction = ({ execute }: Connection): SqlConnection.Connection => ({
  execute,
  executeUnprepared: () => Effect.succeed([]),
  executeRaw: (sql, params) => execute(sql, params, undefined),
  executeValues: (sql, params) =>
    Effect.map(execute(sql, params, undefined), (rows) => rows.map((row: object) => Object.values(row))),
  executeStream: (sql, params, transform) => Stream.fromIterableEffect(execute(sql, params, transform))
})

/** Applies the migrations after the first `made`, and records them. It is an error if any was not applied. */
export const runMigrations = (
  connection: Connection,
  compiler: Compiler,
  made: number,
  list: ReadonlyArray<Migrator.ResolvedMigration>
): Effect.Effect<void, SqlError> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.make({
      acquirer: Effect.succeed(insideTransaction(connection)),
      compiler,
      spanAttributes: []
    })
    // The number of applied migrations is stored elsewhere, and older databases lack this table. This also makes write
    // errors visible: the Migrator takes every error of its own first write for a concurrent migration.
    yield* sql.unsafe(`CREATE TABLE IF NOT EXISTS ${table} (
      migration_id INTEGER PRIMARY KEY,
      name TEXT NOT NULL,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP
    )`)
    yield* sql`DELETE FROM ${sql(table)} WHERE migration_id > ${made}`
    for (const [id, name] of list.slice(0, made)) {
      yield* sql`INSERT INTO ${sql(table)} (migration_id, name) VALUES (${id}, ${name}) ON CONFLICT DO NOTHING`
    }
    const applied = yield* Effect.provideService(
      Migrator.make({})({ loader: Effect.succeed(list), table }),
      SqlClient.SqlClient,
      sql
    )
    if (applied.length === list.length - made) return
    const message = `${applied.length} migrations were applied instead of ${list.length - made}`
    return yield* new SqlError({ cause: new Error(message), message })
  }).pipe(
    // The Migrator logs each migration at DEBUG level, which is noise for a new database.
    Logger.withMinimumLogLevel(LogLevel.Info),
    Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make),
    // The Migrator dies of a migration that fails.
    Effect.catchAllDefect((defect) =>
      defect instanceof Migrator.MigrationError ? Effect.fail(defect) : Effect.die(defect)
    ),
    Effect.catchTag("MigrationError", (error) =>
      error.cause instanceof SqlError
        ? error.cause
        : new SqlError({ cause: error.cause ?? error, message: error.message }))
  )
