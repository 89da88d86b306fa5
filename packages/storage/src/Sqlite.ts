/** Storage in a SQLite file, which several processes may share. */
import { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { resolve } from "node:path"
import { connect, execute, sqlite } from "./internal/sqliteConnection.ts"
import { create } from "./internal/sqliteCreate.ts"
import { checkSchema, inspect } from "./internal/sqliteFile.ts"
import { migrate, migrations, schemaOf } from "./internal/sqliteMigrate.ts"
import { makeSqlStorage } from "./internal/sqlStorage.ts"
import { retryBusy } from "./internal/writer.ts"

/** Where the database is. */
export interface Options {
  /** The file; it and its directory are made where they are missing. `:memory:` lasts as long as the layer. */
  readonly filename: string
}

const pragmas = [
  // SQLite waits for a lock by stopping the whole process: it does so only for a moment, then other fibers have their turn.
  "PRAGMA busy_timeout = 50",
  "PRAGMA foreign_keys = ON",
  "PRAGMA journal_mode = WAL",
  // What was acknowledged survives a power cut. The group commit makes many commits share one flush.
  "PRAGMA synchronous = FULL",
  "PRAGMA journal_size_limit = 16777216"
]

const open = Effect.fnUntraced(function*(file: string) {
  const connection = yield* connect(file)
  yield* Effect.forEach(pragmas, (pragma) => retryBusy(execute(connection, file, pragma)), { discard: true })
  // The header that was inspected may be older than what the log of the file says.
  const schema = yield* retryBusy(schemaOf(connection, file))
  yield* checkSchema(file, schema, migrations.length)
  if (schema < migrations.length) yield* retryBusy(migrate(connection, file))
  return connection
})

/** Storage in this file. Fails, and leaves the file as it is, where it is not one of Skein's or cannot be used. */
export const layer = ({ filename }: Options): Layer.Layer<SessionStorage, StorageError> =>
  Layer.scoped(
    SessionStorage,
    Effect.gen(function*() {
      const file = filename === ":memory:" ? filename : resolve(filename)
      if (file !== ":memory:" && !(yield* inspect(file, migrations.length))) yield* create(file)
      return yield* makeSqlStorage(yield* open(file), sqlite(file))
    })
  )
