/** Decides whether a session can work in the directory of a request. */
import * as FileSystem from "@effect/platform/FileSystem"
import { problem } from "@skein/api/Problem"
import { ProjectUnavailable } from "@skein/core/Projects"
import { findSession } from "@skein/core/SessionLookup"
import { Whereabouts } from "@skein/core/Whereabouts"
import * as Effect from "effect/Effect"
import { isAbsolute } from "node:path"
import { asProblem } from "./toProblem.ts"

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
    problem(
      422,
      "NoDirectory",
      `There is no directory ${
        JSON.stringify(directory.slice(0, 200))
      } on the machine of the server. Name the absolute path of one there.`
    )
  )
})

/** The directory of a session. It may be missing only if the tree needs none. */
const directoryOfSession = Effect.fnUntraced(function*(given: string) {
  const session = yield* asProblem(findSession(given))
  const root = session.rootID === session.id ? session : yield* asProblem(findSession(session.rootID))
  if (root.anywhere === true) return session.directory
  const { explain, isAway } = yield* Whereabouts
  if (!(yield* isAway(root))) return yield* checkDirectory(session.directory)
  const message = yield* explain(root)
  return yield* asProblem(new ProjectUnavailable({ directory: root.directory, host: root.host, message }))
})

/** The directory that a request is about: that of its session, if it names one. */
export const placeOf = (
  { directory, session }: { readonly directory: string; readonly session?: string | undefined }
) => session === undefined ? checkDirectory(directory) : directoryOfSession(session)
