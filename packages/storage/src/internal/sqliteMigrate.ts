/** Brings the schema of a SQLite file up to date: forward only, in one transaction, whatever other processes do. */
import type { Connection } from "@effect/sql/SqlConnection"
import { failpoint } from "@skein/core/Failpoints"
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import { type Migration, migrations } from "./migrations.ts"
import { backUp } from "./sqliteBackup.ts"
import { execute } from "./sqliteConnection.ts"
import { applicationID, checkSchema } from "./sqliteFile.ts"

/** The schema that a file has. */
export const schemaOf = (connection: Connection, file: string): Effect.Effect<number, StorageError> =>
  Effect.map(execute(connection, file, "PRAGMA user_version"), ([row]) => Number(row?.["user_version"]))

/**
 * Applies the migrations that a file lacks, once a copy of it was made. Processes that do so at once wait for each other,
 * and find nothing left.
 */
export const migrate = (
  connection: Connection,
  file: string,
  list: ReadonlyArray<() => Promise<Migration>> = migrations
): Effect.Effect<void, StorageError> => {
  const run = (sql: string) => execute(connection, file, sql)
  const apply = Effect.gen(function*() {
    const schema = yield* schemaOf(connection, file)
    yield* checkSchema(file, schema, list.length)
    // A file without a schema is only being made.
    if (schema > 0 && schema < list.length && file !== ":memory:") yield* backUp(file, schema)
    for (const load of list.slice(schema)) {
      const { statements } = yield* Effect.promise(load)
      yield* Effect.forEach(statements, (sql) => Effect.zipRight(failpoint("migration_step"), run(sql)), {
        discard: true
      })
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
