/** Finds repositories in a tree besides its own: in a directory of projects, or as submodules. */
import * as NodeFs from "node:fs"
import { join } from "node:path"
import { lstatOf } from "../files/lstatOf.ts"
import { attempt } from "../processes.ts"

/** The maximum depth, number of directories and number of results, because this runs before each command. */
const bounds = { depth: 2, directories: 1_000, repositories: 50 } as const

const directoriesIn = (directory: string): ReadonlyArray<string> =>
  attempt(() => NodeFs.readdirSync(directory, { withFileTypes: true }), [])
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== "node_modules")
    .map(({ name }) => join(directory, name))

/** The entries named `.git` below the top of a directory. */
export const nestedRepositories = (directory: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  let looked = 0
  let level = directoriesIn(directory)
  for (let depth = 1; depth <= bounds.depth; depth++) {
    for (const each of level) {
      if (looked++ >= bounds.directories || found.length >= bounds.repositories) return found
      const git = join(each, ".git")
      if (lstatOf(git) !== undefined) found.push(git)
    }
    if (depth < bounds.depth) level = level.flatMap(directoriesIn)
  }
  return found
}
