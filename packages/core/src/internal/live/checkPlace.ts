/**
 * Refuses to let a session work outside of its place: the directory of the session above it, or a worktree that Skein has made
 * for it. What is stored may come from an archive.
 */
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import { Isolation } from "../../Isolation.ts"
import { ProjectUnavailable } from "../../Projects.ts"
import type { Live } from "./Live.ts"

const refuse = ({ directory }: SessionInfo, message: string) => new ProjectUnavailable({ directory, message })

/** What is wrong with the directory of a session without a worktree; undefined if nothing is. */
export const misplaced = (info: SessionInfo, above: SessionInfo): string | undefined =>
  info.worktree !== undefined || info.directory === above.directory
    ? undefined
    : `The session ${info.id} has the directory ${info.directory}, but the session above it works in ${above.directory}. A subagent works there, or in a worktree that Skein has made for it. Start a new task instead.`

const withoutRecord = ({ id }: SessionInfo, root: string): string =>
  `The session ${id} has the worktree ${root}, and Skein has no record that it made it for this session. If it was removed because nothing had changed in it, let the agent above resume the task, which makes it again. Else start a new task.`

/** Checks a session and those above it. Runs with the services of its project. */
export const checkPlace = ({ info, parent }: Live): Effect.Effect<void, ProjectUnavailable, Isolation> =>
  Effect.gen(function*() {
    if (parent === undefined) return
    const { directory, id: taskID, worktree } = info
    const why = misplaced(info, parent.info)
    if (why !== undefined) return yield* refuse(info, why)
    if (worktree !== undefined) {
      const isolation = yield* Isolation
      const isOwn = yield* Effect.mapError(
        isolation.contains({ taskID, root: worktree.root, directory }),
        ({ message }) => refuse(info, message)
      )
      if (!isOwn) return yield* refuse(info, withoutRecord(info, worktree.root))
    }
    return yield* checkPlace(parent)
  })
