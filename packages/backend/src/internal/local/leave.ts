/** Leaves the running work of a tree in this process for the next prompt or resume. */
import { Session } from "@skein/core/Session"
import { findSession } from "@skein/core/SessionLookup"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import type { TaskRun } from "@skein/domain/Outcome"
import * as Effect from "effect/Effect"

/**
 * Whether anything of the tree is still running: a task, an unread notification, or a turn that a notification began.
 */
const isAtWork = Effect.fnUntraced(function*(id: SessionID) {
  const storage = yield* SessionStorage
  const { rootID, turn } = yield* findSession(id)
  const { rows } = yield* storage.runs({ rootID, unsettled: true })
  if (rows.length > 0 || (yield* storage.inbox(id)).rows.length > 0) return true
  return turn !== undefined && turn.ended === undefined
})

/** Leaves it, and returns the background runs that this interrupts. */
export const leave = Effect.fnUntraced(function*(id: SessionID) {
  const nothing: ReadonlyArray<TaskRun> = []
  if (!(yield* isAtWork(id))) return nothing
  return yield* Effect.flatMap(Session, (session) => session.leave(id))
})
