/** Owns a lock file that one process at a time can hold; the lock ends with the process, however that ends. */
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { connect, execute } from "./internal/sqliteConnection.ts"

/** Holds the file until the scope closes; false if another process holds it. The file is created, and stays. */
export const tryLock = (file: string): Effect.Effect<boolean, StorageError, Scope.Scope> =>
  Effect.gen(function*() {
    // SQLite locks files on every platform, and Node alone does so on none.
    const connection = yield* connect(file)
    yield* execute(connection, file, "PRAGMA busy_timeout = 0")
    yield* execute(connection, file, "BEGIN EXCLUSIVE")
    return true
  }).pipe(Effect.catchIf(({ reason }) => reason === "busy", () => Effect.succeed(false)))
