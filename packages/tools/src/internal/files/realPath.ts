/** Resolves all links of a path, even if the path does not exist. */
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import type { ToolError } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import { refuse } from "../refusal.ts"

type Failure = NodeJS.ErrnoException

/** One system call. FileSystem.realPath resolves each name of the path in turn, which takes ten times as long. */
const resolved = (path: string): Effect.Effect<string, Failure> =>
  Effect.async((resume) => {
    NodeFs.realpath.native(path, (error, real) => resume(error === null ? Effect.succeed(real) : Effect.fail(error)))
  })

/** Whether a real path is a file with other names. It is unknown where those are. */
export const hasOtherNames = (real: string): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    // If it cannot be checked, using it reports why.
    NodeFs.lstat(real, (error, stats) => resume(Effect.succeed(error === null && stats.isFile() && stats.nlink > 1)))
  })

/** How many links may lead to one another. */
const maximumLinks = 40

/**
 * The real path of an absolute path: that of the deepest existing ancestor, plus the rest. A broken link resolves to
 * its target, because writing through it would create that.
 */
export const makeRealPath = (fs: FileSystem.FileSystem, path: Path.Path) => {
  const follow = (at: string, links: number): Effect.Effect<string, ToolError> =>
    Effect.catchAll(resolved(at), (error) => {
      switch (error.code) {
        case "ENOENT":
        case "ENOTDIR":
          return missing(at, links)
        case "ELOOP":
          return refuse("bad_path", `${at} is a link that leads back to itself. Give a path that ends somewhere.`)
        case "ENAMETOOLONG":
          return refuse("bad_path", `A name in the path is too long (${at.length} characters in all). Shorten it.`)
        default:
          return refuse("file", `Could not find out where ${at} leads: ${error.message}.`)
      }
    })

  const missing = (at: string, links: number): Effect.Effect<string, ToolError> => {
    const parent = path.dirname(at)
    if (parent === at) return Effect.succeed(at)
    return Effect.flatMap(follow(parent, links), (directory) => {
      const whole = path.join(directory, path.basename(at))
      return Effect.matchEffect(fs.readLink(whole), {
        onFailure: () => Effect.succeed(whole),
        onSuccess: (link) =>
          links >= maximumLinks
            ? refuse(
              "bad_path",
              `${at} leads through more than ${maximumLinks} links. Give the path that they lead to.`
            )
            : follow(path.resolve(directory, link), links + 1)
      })
    })
  }

  return (at: string): Effect.Effect<string, ToolError> => follow(at, 0)
}
