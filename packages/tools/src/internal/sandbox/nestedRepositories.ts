/** Finds the repositories that lie in a tree beside or below its own: a directory of projects, submodules. */
import * as NodeFs from "node:fs"
import { join } from "node:path"
import { attempt } from "../processes.ts"

/** How deep is looked, in how many directories, and how many are found: this happens before each command. */
const bounds = { depth: 2, directories: 1_000, repositories: 50 } as const

const directoriesIn = (directory: string): ReadonlyArray<string> =>
  attempt(() => NodeFs.readdirSync(directory, { withFileTypes: true }), [])
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== "node_modules")
    .map(({ name }) => join(directory, name))

/** What is called `.git` below the top of a directory. */
export const nestedRepositories = (directory: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  let looked = 0
  let level = directoriesIn(directory)
  for (let depth = 1; depth <= bounds.depth; depth++) {
    for (const each of level) {
      if (looked++ >= bounds.directories || found.length >= bounds.repositories) return found
      const git = join(each, ".git")
      if (NodeFs.lstatSync(git, { throwIfNoEntry: false }) !== undefined) found.push(git)
    }
    if (depth < bounds.depth) level = level.flatMap(directoriesIn)
  }
  return found
}
