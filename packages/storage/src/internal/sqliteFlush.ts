/** Owns durability: a commit is acknowledged once its log is on disk. */
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import { explain, fileSystem } from "./sqliteFile.ts"

/**
 * Flushes the write-ahead log of an open file, off the main thread. `PRAGMA synchronous = FULL` does the same within
 * each COMMIT, but blocks the whole process while the disk works. Here other fibers continue meanwhile, and their
 * commits share the next flush.
 */
export const makeFlush = (file: string): Effect.Effect<Effect.Effect<void, StorageError>, StorageError, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      // SQLite holds no lock on this file that closing it could release, and does not replace it while it is open.
      fileSystem(file, () => fs.openSync(`${file}-wal`, "r+")),
      (descriptor) => Effect.sync(() => fs.closeSync(descriptor))
    ),
    (descriptor) =>
      Effect.async<void, StorageError>((resume) => {
        fs.fdatasync(descriptor, (error) => resume(error === null ? Effect.void : Effect.fail(explain(file, error))))
      })
  )
