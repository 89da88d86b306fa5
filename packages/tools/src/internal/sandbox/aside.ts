/** Moves away what a command was not allowed to create. */
import * as NodeFs from "node:fs"

/** Moves something away; returns its new path. */
export const aside = (path: string): string => {
  let to = `${path}.set-aside`
  for (let number = 2; NodeFs.lstatSync(to, { throwIfNoEntry: false }) !== undefined; number++) {
    to = `${path}.set-aside-${number}`
  }
  NodeFs.renameSync(path, to)
  return to
}
