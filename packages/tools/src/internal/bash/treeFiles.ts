/** Lists the files below a directory when a call is decided on: a program that reads them all is not told their names. */
import * as Effect from "effect/Effect"
import { type Dirent, readdir } from "node:fs"

/** How many entries of directories are read for one line. */
const maximumEntries = 50_000

const entriesOf = (directory: string): Effect.Effect<ReadonlyArray<Dirent>> =>
  Effect.async((resume) => {
    // What cannot be read is not read by the program either.
    readdir(
      directory,
      { withFileTypes: true },
      (error, entries) => resume(Effect.succeed(error === null ? entries : []))
    )
  })

/** The files below a directory, by their paths relative to it, with `/`. */
interface Tree {
  readonly files: ReadonlyArray<string>
  /** Those of them that are links. */
  readonly links: ReadonlyArray<string>
}

/** Lists them; `undefined` where there are more than are read. */
export type TreeFiles = (directory: string, hidden: boolean) => Effect.Effect<Tree | undefined>

/** Makes it for one line. */
export const makeTreeFiles = (): TreeFiles => {
  let left = maximumEntries
  const known = new Map<string, Tree>()
  return (top, hidden) =>
    Effect.gen(function*() {
      const found = known.get(`${hidden} ${top}`)
      if (found !== undefined) return found
      const files: Array<string> = []
      const links: Array<string> = []
      const directories = [""]
      for (let at = directories.pop(); at !== undefined; at = directories.pop()) {
        for (const entry of yield* entriesOf(`${top}/${at}`)) {
          if (--left < 0) return undefined
          if (!hidden && entry.name.startsWith(".")) continue
          if (entry.isDirectory()) directories.push(`${at}${entry.name}/`)
          else files.push(`${at}${entry.name}`)
          if (entry.isSymbolicLink()) links.push(`${at}${entry.name}`)
        }
      }
      const tree = { files, links }
      known.set(`${hidden} ${top}`, tree)
      return tree
    })
}
