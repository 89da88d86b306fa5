/**
 * Checks whether the write-ahead log of a database is intact. SQLite treats a truncated or overwritten log as one that
 * ends there, and continues without the lost commits.
 */
import * as fs from "node:fs"
import { readHead } from "./readHead.ts"

/** The lengths of the log's header, and of the header before each page in it. */
export const headerLength = 32
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
export const endOf = ({ frames, pageSize }: Index): number => headerLength + frames * (frameHeaderLength + pageSize)

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
  return before.salt.equals(header.subarray(16, 24)) && size < endOf(before)
    ? `the end of ${wal} is missing: remove ${file}-shm to continue without it`
    : undefined
}
