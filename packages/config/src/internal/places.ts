/**
 * Finds the directories that may have config for a working directory: the user's, and those up to the top of the
 * project.
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import { basename, dirname, join, resolve } from "node:path"

/** The directories, lowest priority first. */
interface Places {
  /** The user's directory. */
  readonly user: string
  /** From the top of the tree down to the directory. */
  readonly project: ReadonlyArray<string>
  /** The git root; without one, each directory is its own project. */
  readonly root: string | undefined
}

/** Whether something exists there that can be read. */
export const isThere = (path: string) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => Effect.orElseSucceed(Effect.as(fs.stat(path), true), () => false))

/** Finds them, after resolving links, as git does. */
export const placesOf = Effect.fnUntraced(function*(directory: string, user: string) {
  const fs = yield* FileSystem.FileSystem
  const project: Array<string> = []
  let place = yield* Effect.orElseSucceed(fs.realPath(directory), () => resolve(directory))
  for (;;) {
    project.unshift(place)
    if (yield* isThere(join(place, ".git"))) return { user, project, root: place } satisfies Places
    const above = dirname(place)
    if (above === place) return { user, project, root: undefined } satisfies Places
    place = above
  }
})

/** Whether a config file belongs to another tool. */
export const isForeignFile = (file: string): boolean =>
  /^(?:opencode\.jsonc?|settings(?:\.local)?\.json)$/.test(basename(file)) || /\/\.(?:claude|opencode)\//.test(file)
