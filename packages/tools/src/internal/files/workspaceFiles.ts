/** Lists the files below a directory that ignore files do not exclude, for the tools that search. */
import type * as FileSystem from "@effect/platform/FileSystem"
import type { ToolError } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Target } from "../../Paths.ts"
import type { Ripgrep, RipgrepRun } from "../../Ripgrep.ts"
import { cannot, refuse } from "../refusal.ts"
import { holdFound } from "./wholeFile.ts"

/** How long ripgrep may take. */
const patience = "30 seconds"

/** How many files are checked. */
const maximumFiles = 1_000_000

/** Notes on an incomplete search. */
export const incomplete = {
  many: `(Stopped after ${maximumFiles} files: there are more. Look in a smaller directory.)`,
  late: "(Stopped after 30 seconds: there may be more. Look in a smaller directory.)",
  /** The note about errors of single files; `undefined` if there are none. */
  unreadable: (complaints: string): string | undefined => {
    const lines = complaints.split("\n").filter((line) => line !== "")
    return lines.length === 0
      ? undefined
      : `(Not everything could be read: ${lines.slice(0, 3).join("; ")}${
        lines.length > 3 ? ` and ${lines.length - 3} more` : ""
      }.)`
  }
}

/** A path below a target, as it is shown. */
export const below = (target: Target, path: string): string => {
  const plain = path.startsWith("./") ? path.slice(2) : path
  return target.shown === "." ? plain : target.shown.endsWith("/") ? target.shown + plain : `${target.shown}/${plain}`
}

/** The name of a place in a sentence. */
export const placeOf = (target: Target): string => target.shown === "." ? "the working directory" : target.shown

/** Runs ripgrep with a time limit; `undefined` if it took too long. */
export const search = (ripgrep: typeof Ripgrep.Service, run: RipgrepRun) =>
  Effect.map(Effect.timeoutOption(ripgrep.run(run), patience), Option.getOrUndefined)

/** Searches a target through paths that keep naming the same files. */
export const lookingIn = <A, R>(
  target: Target,
  look: (held: Effect.Effect.Success<ReturnType<typeof holdFound>>) => Effect.Effect<A, ToolError, R>
) => Effect.scoped(Effect.flatMap(Effect.mapError(holdFound(target.real), cannot("look in", target.shown)), look))

/** Refuses a search in something that is not a directory. */
export const requireDirectory = (fs: FileSystem.FileSystem, target: Target): Effect.Effect<void, ToolError> =>
  Effect.flatMap(
    Effect.mapError(fs.stat(target.real), cannot("look in", target.shown)),
    ({ type }) =>
      type === "Directory"
        ? Effect.void
        : refuse("not_a_directory", `${target.shown} is a ${type}. Give a directory as path.`)
  )

/**
 * Calls `each` with the relative path of every file below a directory that is not hidden, in any order. Returns the
 * notes on the search.
 */
export const eachFile = (
  ripgrep: typeof Ripgrep.Service,
  target: Target,
  hides: ((path: string) => boolean) | undefined,
  each: (path: string) => void
): Effect.Effect<ReadonlyArray<string>, ToolError> => {
  let count = 0
  const run: Omit<RipgrepRun, "directory"> = {
    args: ["--files", "--null"],
    separator: "\0",
    each: (path) => {
      if (hides?.(path) !== true) each(path.startsWith("./") ? path.slice(2) : path)
      return ++count < maximumFiles
    }
  }
  return lookingIn(target, ({ path }) =>
    Effect.map(search(ripgrep, { ...run, directory: path }), (end) => {
      if (count === maximumFiles) return [incomplete.many]
      const note = end === undefined ? incomplete.late : incomplete.unreadable(end.complaints)
      return note === undefined ? [] : [note]
    }))
}
