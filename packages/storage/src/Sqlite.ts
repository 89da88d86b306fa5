/** Storage in a SQLite file, which several processes may share. */
import { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { existsSync, statSync } from "node:fs"
import { resolve } from "node:path"
import { latest } from "./internal/migrations.ts"
import { noteOpen } from "./internal/openFiles.ts"
import { connect, execute, sqlite } from "./internal/sqliteConnection.ts"
import { copyToRead } from "./internal/sqliteCopy.ts"
import { create } from "./internal/sqliteCreate.ts"
import { checkSchema, fileSystem, inspect } from "./internal/sqliteFile.ts"
import { makeFlush } from "./internal/sqliteFlush.ts"
import { migrate, schemaOf } from "./internal/sqliteMigrate.ts"
import { makeWhole } from "./internal/sqliteWhole.ts"
import { makeSqlStorage } from "./internal/sqlStorage.ts"
import { retryBusy, retryOutage } from "./internal/writer.ts"

/** Where the database is. */
export interface Options {
  /** The file, which is created with its directory if it is missing. `:memory:` lasts as long as the layer. */
  readonly filename: string
  /** `read`: opens a file that cannot be written or created as it is, and stores nothing in it. */
  readonly access?: "read" | "write"
}

const inMemory = ":memory:"

/** SQLite waits for a lock by blocking the whole process, so only briefly; then other fibers run. */
const busyTimeout = "PRAGMA busy_timeout = 50"

const open = Effect.fnUntraced(function*(file: string) {
  const connection = yield* connect(file)
  const run = (sql: string) => retryBusy(execute(connection, file, sql))
  yield* run(busyTimeout)
  yield* run("PRAGMA foreign_keys = ON")
  // 16 MB: a page that changes often is then moved from the log into the file once instead of many times.
  yield* run("PRAGMA wal_autocheckpoint = 4000")
  yield* run("PRAGMA journal_size_limit = 33554432")
  const [mode] = yield* run("PRAGMA journal_mode = WAL")
  // The header that was inspected may be older than the log of the file.
  const schema = yield* retryBusy(schemaOf(connection, file))
  yield* checkSchema(file, schema)
  if (schema < latest) yield* retryBusy(migrate(connection, file))
  // A file system without shared memory has no log: there each COMMIT waits for the disk.
  const hasLog = mode?.["journal_mode"] === "wal"
  yield* run(`PRAGMA synchronous = ${hasLog ? "NORMAL" : "FULL"}`)
  const durability = hasLog ? yield* makeFlush(connection, file) : { flush: Effect.void }
  const othersVersion = Effect.map(
    retryOutage(execute(connection, file, "PRAGMA data_version", [], "mail")),
    ([row]) => row?.["data_version"]
  )
  return { connection, dialect: sqlite(file), hasLog, othersVersion, ...durability }
})

/** Creates the file if it is missing. */
const ready = (file: string): Effect.Effect<string, StorageError> =>
  inspect(file).pipe(
    Effect.flatMap((exists) => exists ? Effect.void : create(file)),
    Effect.as(file)
  )

/** The file; if it cannot be written or created, a copy of it or an empty database. */
const readable = (file: string): Effect.Effect<string, StorageError, Scope.Scope> =>
  Effect.catchIf(
    ready(file),
    ({ reason }) => reason === "readonly",
    () => existsSync(file) ? copyToRead(file) : Effect.succeed(inMemory)
  )

/** Storage in this file. Fails, and leaves the file unchanged, if it is not Skein's or cannot be used. */
export const layer = ({ access = "write", filename }: Options): Layer.Layer<SessionStorage, StorageError> =>
  Layer.scoped(
    SessionStorage,
    Effect.gen(function*() {
      if (filename === inMemory) return yield* makeSqlStorage(yield* open(inMemory))
      const file = resolve(filename)
      const found = yield* access === "write" ? ready(file) : readable(file)
      if (found !== file) return yield* makeSqlStorage(yield* open(found))
      const opened = yield* fileSystem(file, () => statSync(file))
      yield* noteOpen(opened)
      const database = yield* open(file)
      return yield* makeSqlStorage({ ...database, intact: yield* makeWhole(file, opened, database.hasLog) })
    })
  )
