/**
 * Identifies contents of files in a few bytes. It detects accidental changes, not malicious ones: a process that can
 * write the file has no need to trick it.
 */

/** The length, and 64 bits of every byte and its position. Node's own hashes would cost some milliseconds at start. */
export const fingerprint = (bytes: Uint8Array): string => {
  let a = 0x811c9dc5
  let b = 0x9e3779b9
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    a = Math.imul(a ^ byte, 0x01000193)
    b = Math.imul(b ^ byte, 0x5bd1e995)
    b ^= b >>> 15
  }
  return `${bytes.length}:${a >>> 0}:${b >>> 0}`
}
