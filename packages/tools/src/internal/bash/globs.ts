/** Finds the files that match patterns when a call is decided. */
import type { ToolError } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import type { Target } from "../../Paths.ts"
import type { Glob } from "./glob.ts"
import type { Places } from "./places.ts"

/** How many directory entries are compared for one line. */
const maximumNames = 20_000

const namesIn = (directory: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.async((resume) => {
    // Without a directory there are no matches.
    NodeFs.readdir(directory, (error, names) => resume(Effect.succeed(error === null ? names : [])))
  })

/** The matches of a pattern. */
interface Found {
  /** The matching paths, and the pattern itself: without a match, the shell passes it on unchanged. */
  readonly paths: ReadonlyArray<string>
  /** The directories that were searched. */
  readonly directories: ReadonlyArray<Target>
  /** Whether everything was searched. */
  readonly whole: boolean
}

/** Expands the patterns of one line. */
export const makeGlobs = (places: Places): (glob: Glob) => Effect.Effect<Found, ToolError> => {
  let left = maximumNames
  return (glob) =>
    Effect.gen(function*() {
      const directories: Array<Target> = []
      let paths: ReadonlyArray<string> = [""]
      for (const [at, { fits, text }] of glob.entries()) {
        const next: Array<string> = []
        for (const path of paths) {
          const join = (name: string) => at === 0 ? name : `${path}/${name}`
          if (fits === undefined) {
            next.push(join(text))
            continue
          }
          const targets = yield* places.of(at === 0 ? "." : path === "" ? "/" : path)
          directories.push(...targets)
          // A path outside needs a question as written, before anything looks into it.
          for (const { real } of targets.filter(({ place }) => place === "inside")) {
            const names = yield* namesIn(real)
            left -= names.length
            if (left < 0) return { paths: [], directories, whole: false }
            next.push(...[".", "..", ...names].filter(fits).map(join))
          }
        }
        paths = [...new Set(next)]
      }
      return { paths: [...paths, glob.map(({ text }) => text).join("/")], directories, whole: !places.tooMany() }
    })
}
