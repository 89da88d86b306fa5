/** Finds sessions and tasks in this process, and says what sessions do. */
import { Session } from "@skein/core/Session"
import { notFound } from "@skein/core/SessionError"
import { SessionStorage } from "@skein/core/SessionStorage"
import { TaskRefused } from "@skein/core/TaskError"
import type { TaskName } from "@skein/core/TaskRequest"
import { RunID, type SessionID } from "@skein/domain/Id"
import { modeOf } from "@skein/domain/Mode"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { ListedSession } from "../../Sessions.ts"

/** The stored session of an id. */
export const findSession = Effect.fnUntraced(function*(id: SessionID) {
  const storage = yield* SessionStorage
  const found = yield* storage.session(id)
  return Option.isSome(found) ? found.value : yield* notFound(id)
})

/** A session with what it does now, and a root with its mode, also where that is the usual one. */
export const listed = (info: SessionInfo): Effect.Effect<ListedSession, never, Session> =>
  Effect.map(Effect.flatMap(Session, (session) => session.status(info.id)), (status) => ({
    ...info,
    ...(info.parentID === undefined ? { mode: modeOf(info) } : {}),
    status
  }))

const noTask = (id: string) =>
  new TaskRefused({ reason: "not_found", message: `There is no task ${id}. See \`skein tasks\`.` })

const isRunID = Schema.is(RunID)

/** The id of the task that an id means: its own, or that of one of its runs. */
export const taskIDOf = Effect.fnUntraced(function*(id: RunID | SessionID) {
  if (!isRunID(id)) return id
  const storage = yield* SessionStorage
  const run = yield* storage.run(id)
  return Option.isSome(run) ? run.value.taskID : yield* noTask(id)
})

/** The task of an id, as its caller names it. */
export const findTask = Effect.fnUntraced(function*(taskID: SessionID) {
  const { parentID } = yield* Effect.catchTag(findSession(taskID), "SessionNotFound", () => noTask(taskID))
  return parentID === undefined ? yield* noTask(taskID) : { parentID, taskID, byUser: true } satisfies TaskName
})
