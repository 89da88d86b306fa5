/** Owns durability: a commit is acknowledged once its log is on disk. */
import type { Connection } from "@effect/sql/SqlConnection"
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import { execute } from "./sqliteConnection.ts"
import { failed } from "./sqliteError.ts"
import { fileSystem } from "./sqliteFile.ts"

const operation = "flush"

/** How many bytes of the log are written anew at a time. */
const chunk = 1 << 20

const copyOver = (descriptor: number): void => {
  const buffer = Buffer.alloc(chunk)
  for (let at = 0;;) {
    const read = fs.readSync(descriptor, buffer, 0, chunk, at)
    if (read === 0) return
    fs.writeSync(descriptor, buffer, 0, read, at)
    at += read
  }
}

/**
 * Flushes the write-ahead log of an open file, off the main thread. `PRAGMA synchronous = FULL` does the same within
 * each COMMIT, but blocks the whole process while the disk works. Here other fibers continue meanwhile, and their
 * commits share the next flush.
 */
export const makeFlush = (
  connection: Connection,
  file: string
): Effect.Effect<
  { readonly flush: Effect.Effect<void, StorageError>; readonly rewrite: Effect.Effect<void, StorageError> },
  StorageError,
  Scope.Scope
> =>
  Effect.map(
    Effect.acquireRelease(
      // SQLite holds no lock on this file that closing it could release, and does not replace it while it is open.
      fileSystem(file, () => fs.openSync(`${file}-wal`, "r+")),
      (descriptor) => Effect.sync(() => fs.closeSync(descriptor))
    ),
    (descriptor) => ({
      flush: Effect.async((resume) => {
        fs.fdatasync(descriptor, (error) =>
          resume(error === null ? Effect.void : Effect.fail(failed(operation, file)(error))))
      }),
      // No process changes the log while this one may write.
      rewrite: Effect.acquireUseRelease(
        execute(connection, file, "BEGIN IMMEDIATE", [], operation),
        () =>
          Effect.try({ try: () => copyOver(descriptor), catch: failed(operation, file) }),
        () => Effect.exit(execute(connection, file, "ROLLBACK", [], operation))
      )
    })
  )
