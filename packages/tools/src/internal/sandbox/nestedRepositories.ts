/** Finds repositories in a tree besides its own: in a directory of projects, as submodules, or made by a command. */
import * as NodeFs from "node:fs"
import { join } from "node:path"
import { lstatOf } from "../files/lstatOf.ts"
import { attempt } from "../processes.ts"
import { isBare } from "./repositoryChecks.ts"

/** The maximum depth and number of directories, because this runs before and after each command. */
const bounds = { depth: 2, directories: 5_000 } as const

const directoriesIn = (directory: string, hidden: boolean): ReadonlyArray<string> =>
  attempt(() => NodeFs.readdirSync(directory, { withFileTypes: true }), [])
    .filter(({ name }) => name !== ".git" && name !== "node_modules" && (hidden || !name.startsWith(".")))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(directory, name))

/** The repositories below the top of a tree, and what they are on the disk. */
export interface FoundRepositories {
  /** The directories that were looked at. */
  readonly looked: ReadonlySet<string>
  /** Whether these are all that there are, down to the maximum depth. */
  readonly isComplete: boolean
  /** The entries named `.git`. */
  readonly named: ReadonlyMap<string, number>
  /** The directories that are repositories themselves. */
  readonly bare: ReadonlyMap<string, number>
}

/** Looks for repositories below the top of a tree; also in directories whose name begins with a dot, if `hidden` is set. */
export const findRepositories = (directory: string, hidden: boolean): FoundRepositories => {
  const looked = new Set<string>()
  const named = new Map<string, number>()
  const bare = new Map<string, number>()
  let level = directoriesIn(directory, hidden)
  for (let depth = 1; depth <= bounds.depth; depth++) {
    for (const each of level) {
      if (looked.size >= bounds.directories) return { looked, isComplete: false, named, bare }
      looked.add(each)
      const git = lstatOf(join(each, ".git"))
      if (git !== undefined) named.set(join(each, ".git"), git.ino)
      if (isBare(each)) bare.set(each, lstatOf(each)?.ino ?? 0)
    }
    if (depth < bounds.depth) level = level.flatMap((each) => directoriesIn(each, hidden))
  }
  return { looked, isComplete: true, named, bare }
}
