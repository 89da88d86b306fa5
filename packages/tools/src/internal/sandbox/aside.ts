/** Moves what a command was not allowed to make out of the way. */
import * as NodeFs from "node:fs"

/** Moves something out of the way; gives where it is now. */
export const aside = (path: string): string => {
  let to = `${path}.set-aside`
  for (let number = 2; NodeFs.lstatSync(to, { throwIfNoEntry: false }) !== undefined; number++) {
    to = `${path}.set-aside-${number}`
  }
  NodeFs.renameSync(path, to)
  return to
}
