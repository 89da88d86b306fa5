/**
 * Checks whether a file is a database of this program before anything is opened, so that a refused file is not touched.
 */
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as fs from "node:fs"
import { dirname } from "node:path"
import { faultOfSchema } from "./migrations.ts"
import { isOpen } from "./openFiles.ts"
import { codeOf, explainCause, fileError } from "./sqliteError.ts"

/** The first bytes of a file; fewer if it is shorter. Throws Node's errors. */
const readHead = (file: string, length: number): Buffer => {
  const descriptor = fs.openSync(file, "r")
  const head = Buffer.alloc(length)
  const read = fs.readSync(descriptor, head, 0, length, 0)
  fs.closeSync(descriptor)
  return head.subarray(0, read)
}

/** The lengths of the log's header, and of the header before each page in it. */
export const walHeaderLength = 32
export const frameHeaderLength = 24

/** The header of the log's index: every writer updates it after each commit, in the byte order of the machine. */
export const indexLength = 48

/** What the index says of the log. */
export interface Index {
  readonly bytes: Buffer
  /** How many pages the log holds. */
  readonly frames: number
  /** How many pages the database has with its log. */
  readonly pages: number
  readonly pageSize: number
  readonly salt: Buffer
}

/** Parses the header of the index; undefined if it is not complete. */
export const parseIndex = (bytes: Buffer): Index | undefined => {
  if (bytes.length < indexLength || bytes[12] !== 1) return undefined
  const { buffer } = bytes
  const [pageSize = 0] = new Uint16Array(buffer, bytes.byteOffset + 14, 1)
  const [frames = 0, pages = 0] = new Uint32Array(buffer, bytes.byteOffset + 16, 2)
  return { bytes, frames, pages, pageSize: pageSize === 1 ? 65_536 : pageSize, salt: bytes.subarray(32, 40) }
}

const readIndex = (file: string): Index | undefined =>
  fs.existsSync(`${file}-shm`) ? parseIndex(readHead(`${file}-shm`, indexLength)) : undefined

/** Where the log ends, at least, in bytes. */
export const endOf = ({ frames, pageSize }: Index): number => walHeaderLength + frames * (frameHeaderLength + pageSize)

/**
 * Returns what is wrong with the write-ahead log of a database, if anything. SQLite treats a truncated or overwritten log as one
 * that ends there, and continues without the lost commits.
 */
const walDamage = (file: string): string | undefined => {
  const wal = `${file}-wal`
  if (!fs.existsSync(wal)) return undefined
  const before = readIndex(file)
  const size = fs.statSync(wal).size
  const header = readHead(wal, walHeaderLength)
  const after = readIndex(file)
  if (size === 0) return undefined
  if (header.length < walHeaderLength || (header.readUInt32BE(0) & 0xfffffffe) !== 0x377f0682) {
    return `${wal} is not the log that belongs to it`
  }
  // Another process may be writing: only an index that stayed unchanged meanwhile can be compared.
  if (before === undefined || after === undefined || !before.bytes.equals(after.bytes)) return undefined
  return before.salt.equals(header.subarray(16, 24)) && size < endOf(before)
    ? `the end of ${wal} is missing: remove ${file}-shm to continue without it`
    : undefined
}

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
export const inspect = (file: string): Effect.Effect<boolean, StorageError> =>
  Effect.gen(function*() {
    const stat = yield* fileSystem(file, () => fs.statSync(file, { throwIfNoEntry: false }))
    if (stat === undefined) return yield* inspectNothing(file)
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
    yield* checkSchema(file, header.readUInt32BE(60))
    const damage = (yield* inspectLog(file)) ?? (yield* fileSystem(file, () => lostEnd(file, header)))
    if (damage !== undefined) return yield* refuse("corrupt", file, damage)

    yield* fileSystem(file, () => fs.accessSync(file, fs.constants.W_OK), "readonly")
    yield* fileSystem(file, () => fs.accessSync(dirname(file), fs.constants.W_OK | fs.constants.X_OK), "readonly")
    return true
  })

/** Refuses a schema that this version does not know. */
export const checkSchema = (file: string, schema: number, known?: number): Effect.Effect<void, StorageError> => {
  const fault = faultOfSchema(schema, known)
  return fault === undefined ? Effect.void : refuse(fault.reason, file, fault.detail)
}

/** SQLite would apply a left-over log to a new file of this name, and so destroy it. */
const inspectNothing = (file: string): Effect.Effect<boolean, StorageError> =>
  Effect.suspend(() => {
    if (!fs.existsSync(`${file}-wal`)) return Effect.succeed(false)
    // Unless another process has just created the file.
    return fs.existsSync(file) ? inspect(file) : refuse("corrupt", file, `only its log ${file}-wal is there`)
  })
