/** Looks at a path that may not exist. */
import * as Either from "effect/Either"
import * as NodeFs from "node:fs"

/** What is at a path, links not followed; `undefined` if nothing is, also because a file stands for a directory. */
export const lstatOf = (path: string): NodeFs.Stats | undefined =>
  Either.match(Either.try(() => NodeFs.lstatSync(path, { throwIfNoEntry: false })), {
    onLeft: (error) => {
      if (error instanceof Error && "code" in error && error.code === "ENOTDIR") return undefined
      throw error
    },
    onRight: (found) => found
  })
