/** Migrates the schema of a SQLite file: forward only, in one transaction, safe with concurrent processes. */
import type { ResolvedMigration } from "@effect/sql/Migrator"
import type { Connection } from "@effect/sql/SqlConnection"
import { makeCompilerSqlite } from "@effect/sql/Statement"
import { failpoint } from "@skein/core/Failpoints"
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import { migrations } from "./migrations.ts"
import { backUp } from "./sqliteBackup.ts"
import { execute, sqlite } from "./sqliteConnection.ts"
import { applicationID, checkSchema } from "./sqliteFile.ts"

/** The schema version of a file. */
export const schemaOf = (connection: Connection, file: string): Effect.Effect<number, StorageError> =>
  Effect.map(execute(connection, file, "PRAGMA user_version"), ([row]) => Number(row?.["user_version"]))

/**
 * Copies a file, and applies missing migrations. Concurrent processes wait for each other, and find nothing left to do.
 */
export const migrate = (
  connection: Connection,
  file: string,
  list: ReadonlyArray<ResolvedMigration> = migrations
): Effect.Effect<void, StorageError> => {
  const run = (sql: string) => execute(connection, file, sql)
  const apply = Effect.gen(function*() {
    const schema = yield* schemaOf(connection, file)
    yield* checkSchema(file, schema, list.length)
    // A file without a schema is still being created.
    if (schema > 0 && schema < list.length && file !== ":memory:") yield* backUp(file, schema)
    if (schema < list.length) {
      const { runMigrations } = yield* Effect.promise(() => import("./runMigrations.ts"))
      yield* Effect.mapError(
        runMigrations(connection, makeCompilerSqlite(), schema, list),
        (error) => sqlite(file).explain("open", error)
      )
    }
    yield* run(`PRAGMA application_id = ${applicationID}`)
    yield* run(`PRAGMA user_version = ${list.length}`)
    yield* failpoint("migration_step")
    yield* run("COMMIT")
  })
  return Effect.zipRight(
    run("BEGIN IMMEDIATE"),
    Effect.onError(apply, () => Effect.exit(run("ROLLBACK")))
  ).pipe(Effect.uninterruptible)
}
