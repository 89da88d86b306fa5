/**
 * Reads a file at once, and keeps the directory of a real path open while something is done in it. Permission was
 * decided for the path, and a link that has replaced one of its directories since then must not redirect the call. On
 * Linux the directory is opened and compared with the decision, and everything else goes through its descriptor. For a
 * small file, system calls dominate: this makes five. It also avoids the AbortController that FileSystem makes for each
 * read, which costs more than they do.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as NodeFs from "node:fs"
import { attempt } from "../disk.ts"

type Failure = NodeJS.ErrnoException

/** Whether the system has paths for the open files of a process. */
const hasHandles = process.platform === "linux" && NodeFs.existsSync("/proc/self/fd")

const folderFlags = NodeFs.constants.O_RDONLY | NodeFs.constants.O_DIRECTORY | NodeFs.constants.O_NOFOLLOW

// Without waiting for the other end of a pipe.
const plain = NodeFs.constants.O_RDONLY | NodeFs.constants.O_NOFOLLOW | NodeFs.constants.O_NONBLOCK

const moved: Failure = Object.assign(
  new Error("it leads elsewhere now than to where permission was given for; call the tool again"),
  { code: "EMOVED" }
)

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf("/")) || "/"

const lastName = (path: string): string => path.slice(path.lastIndexOf("/") + 1)

const call = <A>(run: (done: (error: Failure | null, value: A) => void) => void): Effect.Effect<A, Failure> =>
  Effect.async((resume) => run((error, value) => resume(error === null ? Effect.succeed(value) : Effect.fail(error))))

const openDirectory = (path: string) => call<number>((done) => NodeFs.open(path, folderFlags, done))

const close = (handle: number): Effect.Effect<void> =>
  Effect.async((resume) => NodeFs.close(handle, () => resume(Effect.void)))

const handleName = (handle: number): string => `/proc/self/fd/${handle}`

/** Whether the open file is the one at this real path. The kernel knows that without the disk. */
const isAt = (handle: number, real: string): boolean =>
  !hasHandles || attempt(() => NodeFs.readlinkSync(handleName(handle)), undefined) === real

const checked = (real: string, handle: Effect.Effect<number, Failure>): Effect.Effect<number, Failure> =>
  Effect.tap(handle, (open) => isAt(open, real) ? Effect.void : Effect.zipRight(close(open), Effect.fail(moved)))

/** Opens a directory. With `make`, creates missing ones below the deepest existing one. */
const opened = (real: string, make: boolean): Effect.Effect<number, Failure> =>
  Effect.catchAll(checked(real, openDirectory(real)), (error) => {
    // The decision was that there is no link here.
    if (error.code === "ELOOP") return Effect.fail(moved)
    if (!make || error.code !== "ENOENT" || real === "/") return Effect.fail(error)
    return Effect.acquireUseRelease(opened(parentOf(real), true), (above) => {
      const path = `${handleName(above)}/${lastName(real)}`
      const made = call<void>((done) => NodeFs.mkdir(path, (failed) => done(failed, undefined)))
      return Effect.zipRight(
        Effect.catchIf(made, ({ code }) => code === "EEXIST", () => Effect.void),
        openDirectory(path)
      )
    }, close)
  })

const unheld = (real: string, make: boolean): Effect.Effect<void, Failure> =>
  make
    ? Effect.asVoid(call((done) => NodeFs.mkdir(parentOf(real), { recursive: true }, done)))
    : Effect.void

/**
 * A path that keeps naming the same file while the scope is open, even if directories above it are moved. With `make`,
 * missing directories are created.
 */
export const holdPath = (
  real: string,
  options: { readonly make: boolean }
): Effect.Effect<string, Failure, Scope.Scope> =>
  hasHandles
    ? Effect.map(
      Effect.acquireRelease(opened(parentOf(real), options.make), close),
      (handle) => `${handleName(handle)}/${lastName(real)}`
    )
    : Effect.as(unheld(real, options.make), real)

/** A path of the existing file or directory at a real path, valid while the scope is open. */
export const holdFound = (
  real: string
): Effect.Effect<{ readonly path: string; readonly forOthers: string }, Failure, Scope.Scope> =>
  hasHandles
    ? Effect.map(
      Effect.acquireRelease(
        checked(real, call<number>((done) => NodeFs.open(real, plain, done))),
        close
      ),
      (handle) => ({ path: handleName(handle), forOthers: `/proc/${process.pid}/fd/${handle}` })
    )
    : Effect.succeed({ path: real, forOthers: real })

/**
 * What is at a path. `names` is the number of names of a file. A file is only read if it is not larger than allowed.
 */
type Found =
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
      if (isAt(file, real)) look()
      else end(Effect.fail(moved))
    })
  })
