/**
 * What the checks of a command line share: its paths from every directory in which its commands may run, the matches of
 * its patterns, the files below directories, and what is known about all of them so far.
 */
import type { ToolCaller, ToolError } from "@skein/core/Tool"
import type { Action } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import { type Dirent, readdir } from "node:fs"
import type { Paths, Target } from "../../Paths.ts"
import { isOutside } from "../asks.ts"
import { isMistake } from "../refusal.ts"
import type { Moves } from "./parts.ts"
import type { Argument, Glob } from "./words.ts"

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
          for (const { real } of targets.filter(({ place }) => place !== "spill")) {
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

/** How many directory entries are read for one line. */
const maximumEntries = 50_000

const entriesOf = (directory: string): Effect.Effect<ReadonlyArray<Dirent>> =>
  Effect.async((resume) => {
    // The program cannot read what Skein cannot read either.
    readdir(
      directory,
      { withFileTypes: true },
      (error, entries) => resume(Effect.succeed(error === null ? entries : []))
    )
  })

/** The files below a directory, by their relative paths, with `/`. */
interface Tree {
  readonly files: ReadonlyArray<string>
  /** Those of them that are links. */
  readonly links: ReadonlyArray<string>
}

/** Lists them, with or without `hidden` names and directories of `packages`; `undefined` if there are too many. */
type TreeFiles = (
  directory: string,
  options: { readonly hidden: boolean; readonly packages: boolean }
) => Effect.Effect<Tree | undefined>

/** Directories of third-party packages, and of build results. */
export const packageDirectories = new Set(["node_modules", ".venv", "__pycache__", "target"])

/** Makes it for one line. */
export const makeTreeFiles = (): TreeFiles => {
  let left = maximumEntries
  const known = new Map<string, Tree>()
  return (top, { hidden, packages: all }) =>
    Effect.gen(function*() {
      const key = `${hidden} ${all} ${top}`
      const found = known.get(key)
      if (found !== undefined) return found
      const files: Array<string> = []
      const links: Array<string> = []
      const directories = [""]
      for (let at = directories.pop(); at !== undefined; at = directories.pop()) {
        for (const entry of yield* entriesOf(`${top}/${at}`)) {
          if (--left < 0) return undefined
          if (!hidden && entry.name.startsWith(".")) continue
          if (!all && packageDirectories.has(entry.name)) continue
          if (entry.isDirectory()) directories.push(`${at}${entry.name}/`)
          else files.push(`${at}${entry.name}`)
          if (entry.isSymbolicLink()) links.push(`${at}${entry.name}`)
        }
      }
      const tree = { files, links }
      known.set(key, tree)
      return tree
    })
}

/** No file has this name: a rule that denies it denies everything in the directory. */
export const anything = "\u0001"

/** A path below a directory, as rules see it. */
export const joined = (directory: string, name: string): string =>
  directory === "." ? name : name === "" ? directory : `${directory === "/" ? "" : directory}/${name}`

/** What a line does to files. */
export class Touched {
  readonly changed = new Map<string, Target>()
  readonly outside = new Map<string, Target>()
  readonly read = new Set<string>()
  /** Files in searched directories that rules do not allow to be read. */
  readonly searched = new Set<string>()
  /**
   * Paths outside that programs may change because they do more than read, and directories outside that the line
   * changes to.
   */
  readonly reached = new Set<string>()
  readonly entered = new Set<string>()
  /** Patterns of commands for which a person is asked each time. */
  readonly guarded = new Set<string>()
  /** The user's config, files with credentials, and directories that contain files of Skein's own and are searched. */
  readonly personal = new Map<string, Target>()
  readonly credentials = new Map<string, Target>()
  readonly holding = new Map<string, Target>()
  /** Whether it may open files that it does not name: where a rule denies reading, they may be those. */
  opens = false
  unclear: string | undefined

  doubt(reason: string): void {
    this.unclear ??= reason
  }

  /** A directory has more files than can be checked. */
  unchecked({ place, shown }: Target): void {
    if (place === "inside") this.doubt(`${shown} has more files than can be checked.`)
    else this.opens = true
  }

  looked(target: Target): void {
    if (isOutside(target)) this.outside.set(target.real, target)
    if (target.credential === true) this.credentials.set(target.real, target)
    else if (target.personal === true) this.personal.set(target.real, target)
  }

  searches(places: Places, target: Target): void {
    this.looked(target)
    if (places.holds(target)) this.holding.set(target.real, target)
  }
}

/** Adds no question for a path that cannot be resolved, but marks the call as unclear. */
export const targetsOf = (places: Places, touched: Touched, path: string) =>
  Effect.catchIf(places.of(path), isMistake, ({ message }) => {
    touched.doubt(message)
    return Effect.succeed([])
  })

/** What the checks of one line share. */
export interface Looking {
  readonly places: Places
  readonly touched: Touched
  readonly found: (argument: Argument) => Effect.Effect<ReadonlyArray<string>, ToolError>
  readonly treeFiles: TreeFiles
  readonly reading: (path: string) => Action
  readonly editing: (path: string) => Action
}

/** The possible texts of a word: its matches, if it is a pattern, and what its braces stand for. */
export const textsOf = ({ found }: Looking, text: string, word: Argument | undefined) =>
  word === undefined || word.fixed
    ? Effect.succeed([text])
    : Effect.map(found(word), (paths) => [text, ...paths])
