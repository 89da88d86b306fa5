/**
 * Reads a file at once. For a file of a few kilobytes the calls of the system are all there is to do: this makes five,
 * and no AbortController, which FileSystem makes for each read and which costs more than they do.
 */
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import { checkHandle } from "./heldPath.ts"

/** What there is at a path; `names` is how many names a file has. Only a file that is not larger than what was allowed has been read. */
export type Found =
  | { readonly type: "file"; readonly bytes: Buffer; readonly mode: number; readonly names: number }
  | { readonly type: "large"; readonly size: number; readonly names: number }
  | { readonly type: "directory" }
  | { readonly type: "other"; readonly what: string }

// Without waiting for the other end of a pipe, and never through a link: the path is a real one.
const flags = NodeFs.constants.O_RDONLY | NodeFs.constants.O_NONBLOCK | NodeFs.constants.O_NOFOLLOW

/** How much is read at once of a file that does not tell its size, as those of /proc. */
const piece = 64 * 1024

const nameOf = (stats: NodeFs.Stats): string => stats.isFIFO() ? "pipe" : stats.isSocket() ? "socket" : "device"

/**
 * What there is at a real path; a file with all that is in it, unless it is larger than `maximum` bytes. `path` is another
 * name for it. Fails where what was opened lies elsewhere, as when a link was put into the path.
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
