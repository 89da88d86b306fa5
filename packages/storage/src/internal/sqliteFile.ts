/**
 * Checks whether a file is a database of this program before anything is opened, so that a refused file is not touched.
 */
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as fs from "node:fs"
import { dirname } from "node:path"
import { isOpen } from "./openFiles.ts"
import { readHead } from "./readHead.ts"
import { codeOf, explainCause, fileError } from "./sqliteError.ts"
import { walDamage } from "./sqliteWal.ts"

/** Marks a database as Skein's: "Skn1". */
export const applicationID = 0x536b6e31

const operation = "open"

/** Explains an error of Node's file system; `denied` is the reason for a denied permission. */
export const explain = (file: string, cause: unknown, denied: StorageError["reason"] = "unreadable"): StorageError =>
  Option.getOrElse(
    explainCause(operation, file, cause, denied),
    () => fileError(operation, "other", file, String(cause))
  )

/** Calls Node's file system. */
export const fileSystem = <A>(
  file: string,
  call: () => A,
  denied?: StorageError["reason"]
): Effect.Effect<A, StorageError> => Effect.try({ try: call, catch: (cause) => explain(file, cause, denied) })

const magic = "SQLite format 3\0"
const headerLength = 100

const refuse = (reason: StorageError["reason"], file: string, detail: string) =>
  Effect.fail(fileError(operation, reason, file, detail))

/** The last process to close the file removes the log, possibly at this moment. */
const inspectLog = (file: string): Effect.Effect<string | undefined, StorageError> =>
  Effect.try({
    try: () => walDamage(file),
    catch: (cause) => ({ gone: codeOf(cause) === "ENOENT", error: explain(file, cause) })
  }).pipe(Effect.catchAll(({ error, gone }) => (gone ? Effect.succeed(undefined) : Effect.fail(error))))

const lostEnd = (file: string, header: Buffer): string | undefined => {
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16)
  // A log that was not yet checkpointed may hold the pages that the file lacks. The size is read last, because other
  // processes let the file grow before they remove the log.
  if (fs.existsSync(`${file}-wal`) || fs.statSync(file).size >= header.readUInt32BE(28) * pageSize) return undefined
  return "its end is missing"
}

/** Inspects a file, and returns whether it exists. Writes nothing, and takes no lock. */
export const inspect = (file: string, latest: number): Effect.Effect<boolean, StorageError> =>
  Effect.gen(function*() {
    const stat = yield* fileSystem(file, () => fs.statSync(file, { throwIfNoEntry: false }))
    if (stat === undefined) return yield* inspectNothing(file, latest)
    if (isOpen(stat)) return true
    if (!stat.isFile()) {
      return yield* refuse("unreadable", file, stat.isDirectory() ? "it is a directory" : "it is not a file")
    }
    yield* fileSystem(file, () => fs.accessSync(file, fs.constants.R_OK))
    if (stat.size === 0) {
      return yield* refuse("corrupt", file, "it is empty")
    }

    const header = yield* fileSystem(file, () => readHead(file, headerLength))
    if (header.length < headerLength || header.toString("latin1", 0, magic.length) !== magic) {
      return yield* refuse("foreign", file, "it is no SQLite database")
    }
    if (header.readUInt32BE(68) !== applicationID) {
      return yield* refuse("foreign", file, "it belongs to another program")
    }
    yield* checkSchema(file, header.readUInt32BE(60), latest)
    const damage = (yield* inspectLog(file)) ?? (yield* fileSystem(file, () => lostEnd(file, header)))
    if (damage !== undefined) return yield* refuse("corrupt", file, damage)

    yield* fileSystem(file, () => fs.accessSync(file, fs.constants.W_OK), "readonly")
    yield* fileSystem(file, () => fs.accessSync(dirname(file), fs.constants.W_OK | fs.constants.X_OK), "readonly")
    return true
  })

/** Refuses a schema that this version does not know. */
export const checkSchema = (file: string, schema: number, latest: number): Effect.Effect<void, StorageError> =>
  schema > latest ? refuse("newer", file, `it has schema ${schema}, this version knows ${latest}`) : Effect.void

/** SQLite would apply a left-over log to a new file of this name, and so destroy it. */
const inspectNothing = (file: string, latest: number): Effect.Effect<boolean, StorageError> =>
  Effect.suspend(() => {
    if (!fs.existsSync(`${file}-wal`)) return Effect.succeed(false)
    // Unless another process has just created the file.
    return fs.existsSync(file) ? inspect(file, latest) : refuse("corrupt", file, `only its log ${file}-wal is there`)
  })
