/** Owns the disk space of a database file, and returns what it no longer needs. */
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { resolve } from "node:path"
import { noteOpen } from "./internal/openFiles.ts"
import { connect, execute } from "./internal/sqliteConnection.ts"
import { fileSystem, inspect } from "./internal/sqliteFile.ts"
import { retryBusy } from "./internal/writer.ts"

const bytesOf = (path: string): number => fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0

/** The bytes of a database and its log on disk; 0 if there is none. */
export const size = (filename: string): Effect.Effect<number, StorageError> =>
  fileSystem(filename, () => bytesOf(filename) + bytesOf(`${filename}-wal`))

/**
 * Rewrites the database without the space of deleted rows. This blocks the whole process, needs as much space again
 * while it runs, and other processes wait to write, so call it on request, not while agents work. Waits up to 30
 * seconds for the lock of another process.
 */
export const compact = (filename: string): Effect.Effect<void, StorageError> =>
  Effect.scoped(Effect.gen(function*() {
    const file = resolve(filename)
    if (!(yield* inspect(file))) return
    yield* noteOpen(yield* fileSystem(file, () => fs.statSync(file)))
    const connection = yield* connect(file)
    const run = (sql: string) => retryBusy(execute(connection, file, sql))
    yield* run("PRAGMA busy_timeout = 50")
    yield* run("VACUUM")
    // The new pages are in the log until a checkpoint moves them. A reader may delay that until the next checkpoint.
    yield* run("PRAGMA wal_checkpoint(TRUNCATE)")
  }))
