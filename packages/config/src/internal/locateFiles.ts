/** Finds the files of config that hold for a directory; where there are none it costs a few calls and reads nothing. */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import { dirname, join, resolve } from "node:path"
import type { ConfigIssue } from "../ConfigError.ts"
import { reason } from "./readText.ts"

/** The files, and what keeps them from being found. */
interface ConfigFilesFound {
  readonly user: string | undefined
  /** From the top of the tree down to the directory; the later ones are nearer. */
  readonly project: ReadonlyArray<string>
  /** The git root; without one, each file stands for its own directory. */
  readonly root: string | undefined
  readonly issues: ReadonlyArray<ConfigIssue>
}

const names = ["skein.json", "skein.jsonc"] as const

/**
 * Looks in the user's directory, and from `directory` up to the git root or the top of the file system. One look after the
 * other: fibers to look at once were measured to cost three times as much as the looking.
 */
export const locateFiles = Effect.fnUntraced(function*(directory: string, userDirectory: string) {
  const fs = yield* FileSystem.FileSystem
  const issues: Array<ConfigIssue> = []

  const isThere = (path: string) =>
    Effect.catchAll(Effect.as(fs.stat(path), true), (error) => {
      if (!isAbsent(error)) issues.push({ file: path, message: `cannot be looked at: ${reason(error)}` })
      return Effect.succeed(false)
    })

  const look = Effect.fnUntraced(function*(place: string) {
    const plain = yield* isThere(join(place, names[0]))
    const commented = yield* isThere(join(place, names[1]))
    if (plain && commented) {
      issues.push({
        file: join(place, names[1]),
        message: `there is a ${names[0]} beside it; keep one of the two, so that nobody reads the wrong one`
      })
    }
    return plain ? join(place, names[0]) : commented ? join(place, names[1]) : undefined
  })

  const walk = Effect.fnUntraced(function*() {
    const project: Array<string> = []
    // Links are followed first, as git does: a linked directory belongs to the tree that it lies in.
    let place = yield* Effect.orElseSucceed(fs.realPath(directory), () => resolve(directory))
    for (;;) {
      const file = yield* look(place)
      const isRoot = yield* isThere(join(place, ".git"))
      if (file !== undefined) project.unshift(file)
      const above = dirname(place)
      if (isRoot) return { project, root: place }
      if (above === place) return { project, root: undefined }
      place = above
    }
  })

  const user = yield* look(userDirectory)
  const { project, root } = yield* walk()
  // The user's own file may lie in a tree as well, such as one of dotfiles: it is read once, as the user's.
  const real = user === undefined || project.length === 0
    ? undefined
    : yield* Effect.orElseSucceed(fs.realPath(user), () => user)
  const isOther = (path: string) =>
    Effect.map(Effect.orElseSucceed(fs.realPath(path), () => path), (found) => found !== real)
  const others = real === undefined ? project : yield* Effect.filter(project, isOther)
  return { user, project: others, root, issues } satisfies ConfigFilesFound
})

// A directory that is a file has nothing in it either.
const isAbsent = (error: PlatformError): boolean =>
  error._tag === "SystemError"
  && (error.reason === "NotFound" || /^ENOTDIR\b/.test(error.description ?? ""))
