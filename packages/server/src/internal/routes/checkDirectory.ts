/** Decides whether a session can work in the directory of a request. */
import * as FileSystem from "@effect/platform/FileSystem"
import { problem } from "@skein/api/Problem"
import * as Effect from "effect/Effect"
import { isAbsolute } from "node:path"

/** The directory, if one exists at this path. */
export const checkDirectory = Effect.fnUntraced(function*(directory: string) {
  const fileSystem = yield* FileSystem.FileSystem
  const isThere = isAbsolute(directory) && !directory.includes("\0")
    && (yield* Effect.match(fileSystem.stat(directory), {
      onFailure: () => false,
      onSuccess: ({ type }) => type === "Directory"
    }))
  if (isThere) return directory
  return yield* Effect.fail(
    problem(422, "NoDirectory", "`directory` has to be the absolute path of a directory on the machine of the server.")
  )
})
