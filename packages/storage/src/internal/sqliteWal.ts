/**
 * Checks whether the write-ahead log of a database is intact. SQLite treats a truncated or overwritten log as one that
 * ends there, and continues without the lost commits.
 */
import * as fs from "node:fs"
import { readHead } from "./readHead.ts"

const headerLength = 32
const frameHeaderLength = 24

/** The header of the log's index: every writer updates it after each commit, in the byte order of the machine. */
const indexLength = 48

interface Index {
  readonly bytes: Buffer
  readonly frames: number
  readonly pageSize: number
  readonly salt: Buffer
}

const readIndex = (file: string): Index | undefined => {
  if (!fs.existsSync(`${file}-shm`)) return undefined
  const bytes = readHead(`${file}-shm`, indexLength)
  if (bytes.length < indexLength || bytes[12] !== 1) return undefined
  const [pageSize = 0] = new Uint16Array(bytes.buffer, bytes.byteOffset + 14, 1)
  const [frames = 0] = new Uint32Array(bytes.buffer, bytes.byteOffset + 16, 1)
  return { bytes, frames, pageSize: pageSize === 1 ? 65_536 : pageSize, salt: bytes.subarray(32, 40) }
}

/** Returns what is wrong with the log of a database, if anything. */
export const walDamage = (file: string): string | undefined => {
  const wal = `${file}-wal`
  if (!fs.existsSync(wal)) return undefined
  const before = readIndex(file)
  const size = fs.statSync(wal).size
  const header = readHead(wal, headerLength)
  const after = readIndex(file)
  if (size === 0) return undefined
  if (header.length < headerLength || (header.readUInt32BE(0) & 0xfffffffe) !== 0x377f0682) {
    return `${wal} is not the log that belongs to it`
  }
  // Another process may be writing: only an index that stayed unchanged meanwhile can be compared.
  if (before === undefined || after === undefined || !before.bytes.equals(after.bytes)) return undefined
  const committed = headerLength + before.frames * (frameHeaderLength + before.pageSize)
  return before.salt.equals(header.subarray(16, 24)) && size < committed
    ? `the end of ${wal} is missing: remove ${file}-shm to continue without it`
    : undefined
}
