/** Lists the files below a directory when a call is decided: a program that reads them all does not name them. */
import * as Effect from "effect/Effect"
import { type Dirent, readdir } from "node:fs"

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
