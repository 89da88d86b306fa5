/**
 * Keeps the directory of a real path open while something is done in it. Permission was decided for the path, and a
 * link that has replaced one of its directories since then must not redirect the call. On Linux the directory is opened
 * and compared with the decision, and everything else goes through its descriptor.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as NodeFs from "node:fs"

type Failure = NodeJS.ErrnoException

/** Whether the system has paths for the open files of a process. */
const hasHandles = process.platform === "linux" && NodeFs.existsSync("/proc/self/fd")

const flags = NodeFs.constants.O_RDONLY | NodeFs.constants.O_DIRECTORY | NodeFs.constants.O_NOFOLLOW

// Without waiting for the other end of a pipe.
const plain = NodeFs.constants.O_RDONLY | NodeFs.constants.O_NOFOLLOW | NodeFs.constants.O_NONBLOCK

const moved: Failure = Object.assign(
  new Error("it leads elsewhere now than to where permission was given for; call the tool again"),
  { code: "EMOVED" }
)

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf("/")) || "/"

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1)

const call = <A>(run: (done: (error: Failure | null, value: A) => void) => void): Effect.Effect<A, Failure> =>
  Effect.async((resume) => run((error, value) => resume(error === null ? Effect.succeed(value) : Effect.fail(error))))

const openDirectory = (path: string) => call<number>((done) => NodeFs.open(path, flags, done))

const close = (handle: number): Effect.Effect<void> =>
  Effect.async((resume) => NodeFs.close(handle, () => resume(Effect.void)))

const handleName = (handle: number): string => `/proc/self/fd/${handle}`

/** Fails unless the open file is the one at this real path. */
export const checkHandle = (handle: number, real: string, done: (error: Failure | null) => void): void => {
  if (!hasHandles) done(null)
  else NodeFs.readlink(handleName(handle), (error, found) => done(error ?? (found === real ? null : moved)))
}

const checked = (real: string, handle: Effect.Effect<number, Failure>): Effect.Effect<number, Failure> =>
  Effect.tap(handle, (open) =>
    Effect.onError(
      call<void>((done) => checkHandle(open, real, (error) => done(error, undefined))),
      () => close(open)
    ))

/** Opens a directory. With `make`, creates missing ones below the deepest existing one. */
const opened = (real: string, make: boolean): Effect.Effect<number, Failure> =>
  Effect.catchAll(checked(real, openDirectory(real)), (error) => {
    // The decision was that there is no link here.
    if (error.code === "ELOOP") return Effect.fail(moved)
    if (!make || error.code !== "ENOENT" || real === "/") return Effect.fail(error)
    return Effect.acquireUseRelease(opened(parentOf(real), true), (above) => {
      const path = `${handleName(above)}/${nameOf(real)}`
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
      (handle) => `${handleName(handle)}/${nameOf(real)}`
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
