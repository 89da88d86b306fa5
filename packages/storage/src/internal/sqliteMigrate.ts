/** Migrates the schema of a SQLite file: forward only, in one transaction, safe with concurrent processes. */
import type { Connection } from "@effect/sql/SqlConnection"
import { failpoint } from "@skein/core/Failpoints"
import { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { applyMigrations, latestOf, type Migration, migrations } from "./migrations.ts"
import { connect, execute, sqlite } from "./sqliteConnection.ts"
import { codeOf } from "./sqliteError.ts"
import { applicationID, checkSchema, explain, fileSystem } from "./sqliteFile.ts"

/** Only the owner may read what agents saw and wrote. */
const fileMode = 0o600

const copy = (file: string, to: string) =>
  Effect.scoped(Effect.gen(function*() {
    // SQLite fills an empty file, and keeps its mode.
    yield* fileSystem(to, () => fs.closeSync(fs.openSync(to, "wx", fileMode)), "readonly")
    const connection = yield* connect(file)
    yield* execute(connection, to, "VACUUM INTO ?", [to])
    yield* fileSystem(to, () => {
      const descriptor = fs.openSync(to, "r+")
      fs.fsyncSync(descriptor)
      fs.closeSync(descriptor)
    })
  }))

const attempt = (to: string, call: () => void) =>
  Effect.try({
    try: call,
    catch: (cause) => ({ isTaken: codeOf(cause) === "EEXIST", error: explain(to, cause, "readonly") })
  })

const place = (made: string, to: string) =>
  attempt(to, () => fs.linkSync(made, to)).pipe(
    // Some file systems have no links.
    Effect.catchIf(({ isTaken }) => !isTaken, () =>
      attempt(to, () => fs.copyFileSync(made, to, fs.constants.COPYFILE_EXCL))),
    Effect.as(to)
  )

/** An older copy is never overwritten: it may be the only intact one. */
const placeFree = (made: string, name: string, count = 1): Effect.Effect<string, StorageError> =>
  Effect.catchAll(
    place(made, `${name}${count === 1 ? "" : `-${count}`}.bak`),
    ({ error, isTaken }) => isTaken ? placeFree(made, name, count + 1) : Effect.fail(error)
  )

/**
 * Copies a file with this schema, and returns the path of the copy. The caller holds the write lock, so that nothing is
 * written meanwhile and only one process makes a copy; a separate connection reads it.
 */
const backUp = (file: string, schema: number): Effect.Effect<string, StorageError> =>
  Effect.scoped(Effect.gen(function*() {
    const name = `${file}.schema-${schema}`
    const directory = yield* Effect.acquireRelease(
      fileSystem(`${name}.bak`, () => fs.mkdtempSync(`${name}.new-`), "readonly"),
      (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
    )
    const made = join(directory, "db")
    yield* copy(file, made)
    return yield* placeFree(made, name)
  })).pipe(
    Effect.mapError(({ message, operation, reason }) =>
      new StorageError({
        operation,
        // The retries of half a minute are only for locks of the file itself.
        reason: reason === "busy" ? "other" : reason,
        message: `${file} has to be brought to a newer schema, and no copy of it could be made before. `
          + `It was left as it is. ${message}`
      })
    )
  )

/** The schema version of a file. */
export const schemaOf = (connection: Connection, file: string): Effect.Effect<number, StorageError> =>
  Effect.map(execute(connection, file, "PRAGMA user_version"), ([row]) => Number(row?.["user_version"]))

/**
 * Copies a file, and applies missing migrations. Concurrent processes wait for each other, and find nothing left to do.
 */
export const migrate = (
  connection: Connection,
  file: string,
  list: ReadonlyArray<Migration> = migrations
): Effect.Effect<void, StorageError> => {
  const run = (sql: string) => execute(connection, file, sql)
  const apply = Effect.gen(function*() {
    const schema = yield* schemaOf(connection, file)
    const latest = latestOf(list)
    yield* checkSchema(file, schema, latest)
    // A file without a schema is still being created.
    if (schema > 0 && schema < latest && file !== ":memory:") yield* backUp(file, schema)
    if (schema < latest) {
      const { sqliteTypes } = yield* Effect.promise(() => import("./schema.ts"))
      yield* Effect.mapError(
        applyMigrations(connection, sqliteTypes, schema, list),
        (error) => sqlite(file).explain("open", error)
      )
    }
    yield* run(`PRAGMA application_id = ${applicationID}`)
    yield* run(`PRAGMA user_version = ${latest}`)
    yield* failpoint("migration_step")
    yield* run("COMMIT")
  })
  return Effect.zipRight(
    run("BEGIN IMMEDIATE"),
    Effect.onError(apply, () => Effect.exit(run("ROLLBACK")))
  ).pipe(Effect.uninterruptible)
}
