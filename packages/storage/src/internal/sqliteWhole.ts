/**
 * Checks that an open database is still the file that was opened, and whole: commits would not notice that somebody deletes,
 * replaces or truncates it, because they go to the log.
 */
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { descriptorOf } from "./openFiles.ts"
import { failed, fileError } from "./sqliteError.ts"
import {
  endOf,
  fileSystem,
  frameHeaderLength,
  type Index,
  indexLength,
  parseIndex,
  walHeaderLength
} from "./sqliteFile.ts"

const operation = "check"
const magic = "SQLite format 3\0"
const databaseHeader = 100

/** SQLite locks bytes here, and never writes the page that contains them. */
const lockedByte = 0x4000_0000

/** How often to look again because the log changed meanwhile. After that nothing is known, and nothing is claimed. */
const looks = 20

const readAt = (descriptor: number, length: number, at: number): Buffer => {
  const buffer = Buffer.alloc(length)
  return buffer.subarray(0, fs.readSync(descriptor, buffer, 0, length, at))
}

const isSame = (one: fs.Stats, other: fs.Stats): boolean => one.ino === other.ino && one.dev === other.dev

/** What is wrong with the file at a path that was opened as this one. */
const replaced = (path: string, opened: fs.Stats): string | undefined => {
  const found = fs.statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return `${path} is not there`
  return isSame(found, opened) ? undefined : `another file is in the place of ${path}`
}

/** What was seen of a log: it only grows until it begins anew, with another salt. */
interface Seen {
  readonly salt: Buffer
  readonly frames: number
  readonly pages: Set<number>
}

/** Reads what a log has gained; undefined if a part of it is missing, or was overwritten. */
const readLog = (log: number, { frames, pageSize, salt }: Index, seen: Seen | undefined): Seen | undefined => {
  const known = seen?.salt.equals(salt) === true ? seen : { salt, frames: 0, pages: new Set<number>() }
  // The last one that was seen is read again: it would be missing as well if the log had been cut off before it.
  for (let frame = Math.max(0, known.frames - 1); frame < frames; frame++) {
    const header = readAt(log, frameHeaderLength, walHeaderLength + frame * (frameHeaderLength + pageSize))
    if (header.length < frameHeaderLength || !header.subarray(8, 16).equals(salt)) return undefined
    known.pages.add(header.readUInt32BE(0))
  }
  return { ...known, frames }
}

/** How many pages are neither in the file nor in its log. */
const missingPages = (size: number, { pages, pageSize }: Index, inLog: ReadonlySet<number>): number => {
  let missing = 0
  for (let page = Math.floor(size / pageSize) + 1; page <= pages; page++) {
    if (!inLog.has(page) && page !== lockedByte / pageSize + 1) missing++
  }
  return missing
}

/** Looks at the lengths and the beginnings of an open database, its log and the log's index. */
const makeLook = (database: number, log: number, index: number) => {
  let seen: Seen | undefined
  const indexNow = () => parseIndex(readAt(index, indexLength, 0))
  const faultOf = (header: Buffer, found: Index): string | undefined => {
    const isShort = found.frames > 0 && fs.fstatSync(log).size < endOf(found)
    const now = found.frames === 0 ? undefined : readLog(log, found, seen)
    if (isShort || (found.frames > 0 && now === undefined)) return "a part of its log is missing"
    seen = now
    // Read last: other processes let the file grow before they begin the log anew.
    const { size } = fs.fstatSync(database)
    const missing = found.frames === 0
      ? Math.max(0, header.readUInt32BE(28) - Math.floor(size / found.pageSize))
      : missingPages(size, found, now?.pages ?? new Set())
    return missing === 0 ? undefined : `its end was cut off: ${missing} of its pages are missing`
  }
  const look = (left = looks): string | undefined => {
    const header = readAt(database, databaseHeader, 0)
    if (header.length < databaseHeader) return "its content was removed"
    if (header.toString("latin1", 0, magic.length) !== magic) return "its beginning was overwritten"
    const before = indexNow()
    const fault = before === undefined ? undefined : faultOf(header, before)
    if (before === undefined || fault === undefined || indexNow()?.bytes.equals(before.bytes) === true) return fault
    // Another process has written meanwhile.
    return left === 0 ? undefined : look(left - 1)
  }
  return look
}

/**
 * Makes the check of a database that was opened as this file, which fails with reason `gone`. Call it with an open connection,
 * which has made the log.
 */
export const makeWhole = (
  file: string,
  opened: fs.Stats,
  hasLog: boolean
): Effect.Effect<Effect.Effect<void, StorageError>, StorageError> =>
  Effect.map(
    fileSystem(file, () => {
      if (!hasLog) return () => undefined
      const [log, index] = [descriptorOf(opened, `${file}-wal`), descriptorOf(opened, `${file}-shm`)]
      const [logStats, indexStats] = [fs.fstatSync(log), fs.fstatSync(index)]
      const look = makeLook(descriptorOf(opened, file), log, index)
      return () => replaced(`${file}-wal`, logStats) ?? replaced(`${file}-shm`, indexStats) ?? look()
    }),
    (lookAtLog) =>
      Effect.flatMap(
        Effect.try({ try: () => replaced(file, opened) ?? lookAtLog(), catch: failed(operation, file) }),
        (fault) => fault === undefined ? Effect.void : fileError(operation, "gone", file, fault)
      )
  )
