/** Decides which session a prompt goes to, and where that works. */
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import { UsageError } from "../../UsageError.ts"
import { sessionOf } from "../ids.ts"
import { checkDirectory, directoryOf, projectOf } from "../place.ts"

/** Where a prompt goes. */
export interface Target {
  /** Absent where a new session is to be made. */
  readonly session: SessionInfo | undefined
  readonly directory: string
  readonly projectID: string
}

const existing = Effect.fnUntraced(function*(session: SessionInfo, given: string | undefined) {
  if (given !== undefined && (yield* directoryOf(given)) !== session.directory) {
    return yield* new UsageError({
      message:
        `--dir cannot move ${session.id}, which works in ${session.directory}. Leave --dir out, or begin a new session.`
    })
  }
  yield* checkDirectory(session.directory, `${session.id} works in a directory that cannot be used: `)
  return { session, directory: session.directory, projectID: session.projectID } satisfies Target
})

/** Finds the session that the flags name, or the place for a new one. */
export const findTarget = Effect.fnUntraced(function*(flags: {
  readonly session: string | undefined
  readonly continue: boolean
  readonly fork: boolean
  readonly dir: string | undefined
}) {
  const storage = yield* SessionStorage
  if (flags.fork && flags.session === undefined && !flags.continue) {
    return yield* new UsageError({
      message: "--fork copies a session: name it with --session ID, or take the newest one with --continue."
    })
  }
  if (flags.session !== undefined) {
    if (flags.continue) {
      return yield* new UsageError({ message: "--session and --continue exclude each other. Leave one of them out." })
    }
    return yield* existing(yield* sessionOf(flags.session), flags.dir)
  }
  const directory = yield* directoryOf(flags.dir)
  const projectID = yield* projectOf(directory)
  if (!flags.continue) return { session: undefined, directory, projectID } satisfies Target
  const { rows: [newest] } = yield* storage.sessions({ projectID, roots: true, limit: 1 })
  if (newest === undefined) {
    return yield* new UsageError({
      message:
        `There is no session in ${projectID} to continue. Leave --continue out to begin one; \`skein sessions --all\` lists those of other projects.`
    })
  }
  return yield* existing(newest, undefined)
})
