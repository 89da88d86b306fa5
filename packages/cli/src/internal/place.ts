/** Decides where a run takes place: its directory, and the directory's project. */
import * as Effect from "effect/Effect"
import { accessSync, constants, existsSync, realpathSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { UsageError } from "../ExitCode.ts"

/** The given directory as an absolute path; by default the current one. */
export const directoryOf = (given: string | undefined): Effect.Effect<string, UsageError> =>
  Effect.flatMap(currentDirectory, (directory) => {
    const path = resolve(directory, given ?? ".")
    return Effect.as(checkDirectory(path, given === undefined ? "" : "--dir: "), path)
  })

/** The directory in which the program was started. */
export const currentDirectory: Effect.Effect<string, UsageError> = Effect.try({
  try: () => process.cwd(),
  catch: () =>
    new UsageError({ message: "The current directory no longer exists. Change to another one, then try again." })
})

/** Fails if a path does not exist, or is not a directory. */
export const checkDirectory = (path: string, prefix = "", by = "with --dir"): Effect.Effect<void, UsageError> =>
  Effect.suspend(() => {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat?.isDirectory() === true) {
      accessSync(path, constants.R_OK | constants.X_OK)
      return Effect.void
    }
    const what = stat === undefined ? "does not exist" : "is not a directory"
    return new UsageError({ message: `${prefix}${path} ${what}. Name a directory that exists ${by}.` })
  }).pipe(
    Effect.catchAllDefect((defect) =>
      new UsageError({
        message: `${prefix}${path} cannot be opened (${defect instanceof Error ? defect.message : String(defect)}).`
      })
    )
  )

/** Whether two absolute paths lead to the same directory. One that is gone is the same only by its name. */
export const isSameDirectory = (one: string, other: string): Effect.Effect<boolean> =>
  resolve(one) === resolve(other)
    ? Effect.succeed(true)
    : Effect.orElseSucceed(Effect.try(() => realpathSync(one) === realpathSync(other)), () => false)

/** The git root above a directory, or the directory itself. Approvals and `--continue` are keyed by it. */
export const projectOf = (directory: string): Effect.Effect<string> =>
  Effect.sync(() => {
    // One that is gone, such as that of an imported session, is a project of its own.
    if (!existsSync(directory)) return directory
    const start = realpathSync(directory)
    for (let place = start;; place = dirname(place)) {
      if (existsSync(join(place, ".git"))) return place
      if (dirname(place) === place) return start
    }
  })
