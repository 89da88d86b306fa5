/** Reads the beginning of a file. */
import * as fs from "node:fs"

/** The first bytes of a file; fewer if it is shorter. Throws Node's errors. */
export const readHead = (file: string, length: number): Buffer => {
  const descriptor = fs.openSync(file, "r")
  const head = Buffer.alloc(length)
  const read = fs.readSync(descriptor, head, 0, length, 0)
  fs.closeSync(descriptor)
  return head.subarray(0, read)
}
