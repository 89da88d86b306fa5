/** What is known about the files of a line while it is checked. */
import type { ToolError } from "@skein/core/Tool"
import type { Action } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { type Dirent, readdir } from "node:fs"
import type { Target } from "../../Paths.ts"
import { isOutside } from "../asks.ts"
import { isMistake } from "../refusal.ts"
import type { Places } from "./places.ts"
import type { Argument } from "./words.ts"

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
export type TreeFiles = (
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

/** The possible texts of a word: its matches, if it is a pattern. */
export const textsOf = ({ found }: Looking, text: string, word: Argument | undefined) =>
  word?.glob === undefined ? Effect.succeed([text]) : Effect.map(found(word), (paths) => [text, ...paths])
