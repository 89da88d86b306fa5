/** Moves away what a command was not allowed to create. */
import * as NodeFs from "node:fs"
import { lstatOf } from "../files/lstatOf.ts"

/** Moves something away; returns its new path. */
export const aside = (path: string): string => {
  let to = `${path}.set-aside`
  for (let number = 2; lstatOf(to) !== undefined; number++) {
    to = `${path}.set-aside-${number}`
  }
  NodeFs.renameSync(path, to)
  return to
}
