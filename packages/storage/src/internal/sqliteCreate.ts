/** Creates a new database: it appears complete or not at all, even if several processes create it concurrently. */
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import { connect, execute } from "./sqliteConnection.ts"
import { fileSystem } from "./sqliteFile.ts"
import { migrate } from "./sqliteMigrate.ts"

/** Only the owner may read what agents saw and wrote. */
const directoryMode = 0o700
const fileMode = 0o600

const build = (file: string) =>
  Effect.scoped(Effect.gen(function*() {
    yield* fileSystem(file, () => fs.closeSync(fs.openSync(file, "wx", fileMode)))
    const connection = yield* connect(file)
    // Nobody else can see it yet: it need not survive a crash, and is flushed once at the end.
    yield* execute(connection, file, "PRAGMA synchronous = OFF")
    yield* execute(connection, file, "PRAGMA journal_mode = MEMORY")
    yield* migrate(connection, file)
    yield* execute(connection, file, "PRAGMA journal_mode = WAL")
  }))

const flush = (file: string) =>
  fileSystem(file, () => {
    const descriptor = fs.openSync(file, "r+")
    fs.fsyncSync(descriptor)
    fs.closeSync(descriptor)
  })

/** Creates the database and its directory. One that another process created meanwhile is used as it is. */
export const create = (file: string): Effect.Effect<void, StorageError> =>
  Effect.scoped(Effect.gen(function*() {
    const directory = yield* Effect.acquireRelease(
      fileSystem(file, () => {
        fs.mkdirSync(dirname(file), { recursive: true, mode: directoryMode })
        return fs.mkdtempSync(`${file}.new-`)
      }, "readonly"),
      (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
    )
    const made = join(directory, "db")
    yield* build(made)
    yield* flush(made)
    yield* place(made, file)
  }))

const place = (made: string, file: string) =>
  fileSystem(file, () => fs.linkSync(made, file), "readonly").pipe(
    // Some file systems have no links.
    Effect.catchAll(() => fileSystem(file, () => fs.copyFileSync(made, file, fs.constants.COPYFILE_EXCL), "readonly")),
    Effect.catchIf(() => fs.existsSync(file), () => Effect.void)
  )
