/**
 * Reads a file at once. For a small file, system calls dominate: this makes five. It also avoids the AbortController
 * that FileSystem makes for each read, which costs more than they do.
 */
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import { checkHandle } from "./heldPath.ts"

/**
 * What is at a path. `names` is the number of names of a file. A file is only read if it is not larger than allowed.
 */
export type Found =
  | { readonly type: "file"; readonly bytes: Buffer; readonly mode: number; readonly names: number }
  | { readonly type: "large"; readonly size: number; readonly names: number }
  | { readonly type: "directory" }
  | { readonly type: "other"; readonly what: string }

// Without waiting for the other end of a pipe, and never through a link: the path is a real one.
const flags = NodeFs.constants.O_RDONLY | NodeFs.constants.O_NONBLOCK | NodeFs.constants.O_NOFOLLOW

/** How much is read at once from a file that does not report its size, such as those of /proc. */
const piece = 64 * 1024

const nameOf = (stats: NodeFs.Stats): string => stats.isFIFO() ? "pipe" : stats.isSocket() ? "socket" : "device"

/**
 * What is at a real path, with the contents of a file of at most `maximum` bytes. `path` is another name for it. Fails
 * if the opened file is elsewhere, for example because a link was put into the path.
 */
export const wholeFile = (
  real: string,
  maximum: number,
  path: string = real
): Effect.Effect<Found, NodeJS.ErrnoException> =>
  Effect.async((resume) => {
    NodeFs.open(path, flags, (unopened, file) => {
      if (unopened !== null) {
        resume(Effect.fail(unopened))
        return
      }
      const end = (result: Effect.Effect<Found, NodeJS.ErrnoException>) => NodeFs.close(file, () => resume(result))
      const read = (bytes: Buffer, at: number, size: number, stats: NodeFs.Stats) =>
        NodeFs.read(file, bytes, at, bytes.length - at, null, (error, count) => {
          const filled = at + count
          if (error !== null) end(Effect.fail(error))
          else if (count === 0 || filled === size) {
            const { mode, nlink } = stats
            end(Effect.succeed({ type: "file", bytes: bytes.subarray(0, filled), mode: mode & 0o7777, names: nlink }))
          } else if (filled > maximum) end(Effect.succeed({ type: "large", size: filled, names: stats.nlink }))
          else read(filled < bytes.length ? bytes : Buffer.concat([bytes], filled + piece), filled, size, stats)
        })
      const look = () =>
        NodeFs.fstat(file, (error, stats) => {
          if (error !== null) end(Effect.fail(error))
          else if (stats.isDirectory()) end(Effect.succeed({ type: "directory" }))
          else if (!stats.isFile()) end(Effect.succeed({ type: "other", what: nameOf(stats) }))
          else if (stats.size > maximum) end(Effect.succeed({ type: "large", size: stats.size, names: stats.nlink }))
          else read(Buffer.allocUnsafeSlow(stats.size === 0 ? piece : stats.size), 0, stats.size, stats)
        })
      checkHandle(file, real, (error) => {
        if (error === null) look()
        else end(Effect.fail(error))
      })
    })
  })
