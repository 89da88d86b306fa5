/** Looks at paths at once, whatever is there, and compares absolute paths name by name. */
import * as Either from "effect/Either"
import * as NodeFs from "node:fs"
import { basename, dirname, join } from "node:path"

/** What is not there, or may not be looked at, needs no attention: files, and processes that end meanwhile. */
export const attempt = <A>(read: () => A, otherwise: A): A => Either.getOrElse(Either.try(read), () => otherwise)

/** The names in a directory; none if it cannot be read. */
export const namesIn = (directory: string): ReadonlyArray<string> => attempt(() => NodeFs.readdirSync(directory), [])

/** The text of a file; empty if it cannot be read. */
export const textOf = (path: string): string => attempt(() => NodeFs.readFileSync(path, "utf8"), "")

/** The real path, also of what does not exist. */
export const realOf = (path: string): string => {
  const found = attempt(() => NodeFs.realpathSync.native(path), undefined)
  if (found !== undefined) return found
  return dirname(path) === path ? path : join(realOf(dirname(path)), basename(path))
}

/** What is at a path, links not followed; `undefined` if nothing is, also because a file stands for a directory. */
export const lstatOf = (path: string): NodeFs.Stats | undefined =>
  Either.match(Either.try(() => NodeFs.lstatSync(path, { throwIfNoEntry: false })), {
    onLeft: (error) => {
      if (error instanceof Error && "code" in error && error.code === "ENOTDIR") return undefined
      throw error
    },
    onRight: (found) => found
  })

/** Whether anything is at a path, links not followed. */
export const isThere = (path: string): boolean => lstatOf(path) !== undefined

/** Whether a directory is. */
export const isDirectory = (path: string): boolean => lstatOf(path)?.isDirectory() === true

/** Whether a file is. */
export const isFile = (path: string): boolean => lstatOf(path)?.isFile() === true

/** Whether a link is. */
export const isLink = (path: string): boolean => lstatOf(path)?.isSymbolicLink() === true

/** Whether a path is a directory or inside it. */
export const isIn = (path: string, directory: string): boolean => path === directory || path.startsWith(`${directory}/`)

/** The same, where the directory may be the root, in which everything is. */
export const isBelow = (path: string, directory: string): boolean => directory === "/" || isIn(path, directory)

/** The directories between a directory and a path deep in it, the outer ones first. */
export const between = (path: string, directory: string): ReadonlyArray<string> => {
  const parent = dirname(path)
  return parent !== directory && isIn(parent, directory) ? [...between(parent, directory), parent] : []
}
