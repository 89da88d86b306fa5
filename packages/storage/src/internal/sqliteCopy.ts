/** Copies a read-only database in order to read it, because SQLite itself must write next to it. */
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { codeOf, fileError } from "./sqliteError.ts"
import { explain, fileSystem } from "./sqliteFile.ts"

/** How often to repeat a copy because another process wrote meanwhile. */
const tries = 10

/** The current state of a file; empty if it does not exist. */
const stateOf = (file: string): string => {
  const stat = fs.statSync(file, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? "" : `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}`
}

const statesOf = (file: string): string => `${stateOf(file)} ${stateOf(`${file}-wal`)}`

const copyTo = (from: string, to: string) => {
  fs.copyFileSync(from, to, fs.constants.COPYFILE_FICLONE)
  fs.chmodSync(to, 0o600)
}

/** Copies the file with its log, which holds the latest commits. Returns whether both stayed unchanged meanwhile. */
const copyOnce = (file: string, copy: string): boolean => {
  const before = statesOf(file)
  copyTo(file, copy)
  fs.rmSync(`${copy}-wal`, { force: true })
  if (fs.existsSync(`${file}-wal`)) copyTo(`${file}-wal`, `${copy}-wal`)
  return statesOf(file) === before
}

/** The last process to close the file removes the log, possibly during a copy. */
const attempt = (file: string, copy: string): boolean => {
  try {
    return copyOnce(file, copy)
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return false
    throw cause
  }
}

const copying = (file: string, copy: string, left: number): Effect.Effect<void, StorageError> =>
  Effect.flatMap(
    fileSystem(file, () => attempt(file, copy)),
    (isWhole) =>
      isWhole
        ? Effect.void
        : left === 0
        ? fileError("open", "busy", file, "it is being written")
        : Effect.zipRight(Effect.sleep("50 millis"), copying(file, copy, left - 1))
  )

/** A private copy that is removed with the scope. */
export const copyToRead = (file: string): Effect.Effect<string, StorageError, Scope.Scope> =>
  Effect.gen(function*() {
    const directory = yield* Effect.acquireRelease(
      Effect.try({
        try: () => fs.mkdtempSync(join(tmpdir(), "skein-read-")),
        catch: (cause) => explain(tmpdir(), cause)
      }),
      (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
    )
    const copy = join(directory, "skein.db")
    yield* copying(file, copy, tries)
    return copy
  })
