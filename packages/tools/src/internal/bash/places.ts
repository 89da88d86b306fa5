/** Resolves the paths of a command line, from every directory in which its commands may run. */
import type { ToolCaller, ToolError } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import type { Paths, Target } from "../../Paths.ts"
import { isMistake } from "../refusal.ts"
import type { Moves } from "./parts.ts"

/** How many paths of a line are resolved. */
const maximumPaths = 300

/** How many directories a line may work in, and how often it may change them. */
const maximumDirectories = 8
const maximumMoves = 32

/** Resolves paths. `tooMany` is set once the limit is exceeded. */
export interface Places {
  /** Where a path may lead; empty if that cannot be determined. */
  readonly of: (path: string) => Effect.Effect<ReadonlyArray<Target>, ToolError>
  readonly tooMany: () => boolean
  /** Whether a directory contains files of Skein's own that no call may see. */
  readonly holds: (target: Target) => boolean
  /** The directories that the line changes to. */
  readonly visited: ReadonlyArray<Target>
  /** The directories in which its commands may run, absolute; empty for the session's directory. */
  readonly directories: ReadonlyArray<string>
}

/** Splits a path before the first `..` that follows a name, because `..` after a link counts from the link's target. */
const upwards = (path: string): readonly [before: string, rest: string] | undefined => {
  const names = path.split("/").filter((name, at) => at === 0 || (name !== "" && name !== "."))
  const at = names.findIndex((name, index) => name === ".." && !["..", "", "."].includes(names[index - 1] ?? ""))
  return at < 0 ? undefined : [names.slice(0, at).join("/"), names.slice(at + 1).join("/")]
}

const parentOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf("/"), 1))

/** Makes the resolver for one call, whose line changes its directory like this. */
export const makePlaces = (
  paths: typeof Paths.Service,
  caller: ToolCaller,
  moves: Moves
): Effect.Effect<Places, ToolError> =>
  Effect.gen(function*() {
    let count = 0
    const known = new Map<string, ReadonlyArray<Target>>()

    const follow = (path: string): Effect.Effect<Target, ToolError> => {
      const split = upwards(path)
      return split === undefined
        ? paths.decide(path, caller)
        : Effect.flatMap(follow(split[0]), ({ real }) =>
          follow(split[1] === "" ? parentOf(real) : `${parentOf(real)}/${split[1]}`))
    }

    const isAbsolute = (path: string) =>
      /^(?:[/~]|file:)/i.test(path)

    const from = (directories: ReadonlyArray<string>, path: string) =>
      Effect.forEach(isAbsolute(path) ? [""] : directories, (directory) =>
        follow(directory === "" ? path : `${directory}/${path}`))

    let directories: ReadonlyArray<string> = [""]
    const visited: Array<Target> = []
    let linked = false
    if (moves.to.length > maximumMoves) {
      count = Infinity
    }
    for (const to of moves.to.slice(0, maximumMoves)) {
      // The shell resolves `..` along the names of the path, not along the targets of links.
      if (/(?:^|\/)\.\.(?:\/|$)/.test(to) && (linked || upwards(to) !== undefined)) {
        count = Infinity
      }
      const targets = yield* Effect.catchIf(from(directories, to), isMistake, () => {
        count = Infinity
        return Effect.succeed([])
      })
      visited.push(...targets)
      const name = to.replace(/^(?:\.?\/)+|\/+$/g, "")
      linked ||= !/^(?:\.\.?\/?)*$/.test(to) && targets.some(({ real }) =>
        !real.endsWith(`/${name}`)
      )
      const reached = targets.map(({ real }) => real)
      directories = [...new Set(moves.sure ? reached : [...directories, ...reached])]
      if (directories.length > maximumDirectories) {
        count = Math.max(count, maximumPaths)
        break
      }
    }

    return {
      of: (path) =>
        Effect.suspend(() => {
          const found = known.get(path)
          if (found !== undefined) return Effect.succeed(found)
          if (count >= maximumPaths) {
            count = Infinity
            return Effect.succeed([])
          }
          count += directories.length
          return Effect.tap(from(directories, path), (targets) => {
            known.set(path, targets)
          })
        }),
      tooMany: () => count === Infinity,
      holds: paths.holds,
      visited,
      directories
    }
  })
