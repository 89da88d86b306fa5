/** Compares absolute paths name by name. */
import { dirname } from "node:path"

/** Whether a path is a directory or inside it. */
export const isIn = (path: string, directory: string): boolean => path === directory || path.startsWith(`${directory}/`)

/** The same, where the directory may be the root, in which everything is. */
export const isBelow = (path: string, directory: string): boolean => directory === "/" || isIn(path, directory)

/** The directories between a directory and a path deep in it, the outer ones first. */
export const between = (path: string, directory: string): ReadonlyArray<string> => {
  const parent = dirname(path)
  return parent !== directory && isIn(parent, directory) ? [...between(parent, directory), parent] : []
}
