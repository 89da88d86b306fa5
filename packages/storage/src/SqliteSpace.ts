/** Owns how much room a database file takes, and gives back what it does not need. */
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { resolve } from "node:path"
import { migrations } from "./internal/migrations.ts"
import { noteOpen } from "./internal/openFiles.ts"
import { connect, execute } from "./internal/sqliteConnection.ts"
import { fileSystem, inspect } from "./internal/sqliteFile.ts"
import { retryBusy } from "./internal/writer.ts"

const bytesOf = (path: string): number => fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0

/** The bytes of a database and of its log on the disk; 0 where there is none. */
export const size = (filename: string): Effect.Effect<number, StorageError> =>
  fileSystem(filename, () => bytesOf(filename) + bytesOf(`${filename}-wal`))

/**
 * Writes the database anew without the room of what was removed. The whole process stands still meanwhile, it takes as
 * much room again while it lasts, and others wait to write: so call it on request, not while agents work. Waits
 * up to 30 seconds for the lock of another process.
 */
export const compact = (filename: string): Effect.Effect<void, StorageError> =>
  Effect.scoped(Effect.gen(function*() {
    const file = resolve(filename)
    if (!(yield* inspect(file, migrations.length))) return
    yield* noteOpen(yield* fileSystem(file, () => fs.statSync(file)))
    const connection = yield* connect(file)
    const run = (sql: string) => retryBusy(execute(connection, file, sql))
    yield* run("PRAGMA busy_timeout = 50")
    yield* run("VACUUM")
    // The new pages are in the log until they are moved. A reader may keep them there, and then the next checkpoint moves them.
    yield* run("PRAGMA wal_checkpoint(TRUNCATE)")
  }))
