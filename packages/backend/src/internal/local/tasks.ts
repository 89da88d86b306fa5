/** The tasks of this process, each named by its id alone. */
import { findSession, findTask, findTaskOrRun } from "@skein/core/SessionLookup"
import type { SessionStorage } from "@skein/core/SessionStorage"
import type { Tasks } from "@skein/core/Tasks"
import * as Effect from "effect/Effect"
import type { TaskControl } from "../../TaskControl.ts"
import type { Local } from "./Local.ts"

/** Makes them. */
export const makeTaskControl = (
  { given }: Local,
  tasks: typeof Tasks.Service,
  storage: typeof SessionStorage.Service
): TaskControl => ({
  list: (session) =>
    given(
      Effect.flatMap(findSession(session), ({ rootID }) => Effect.map(storage.runs({ rootID }), ({ rows }) => rows))
    ),
  newest: (limit) => given(Effect.map(storage.runs({ newest: { limit } }), ({ rows }) => rows.toReversed())),
  get: (id) =>
    given(Effect.gen(function*() {
      const { parentID, taskID } = yield* findTaskOrRun(id)
      const { rows: runs } = yield* storage.runs({ taskID })
      const [status] = yield* tasks.status({ parentID, taskID })
      return { runs, doing: status?.doing ?? "" }
    })),
  stop: (id, reason) =>
    given(
      Effect.flatMap(findTask(id), (task) =>
        tasks.stop(task, { by: "the user", ...(reason === undefined ? {} : { reason }) }))
    ),
  message: (id, message) =>
    given(
      Effect.flatMap(findTask(id), (task) =>
        Effect.map(tasks.message(task, message), (told) =>
          told === "steered" ? { status: told } as const : told))
    ),
  promote: (id) => given(Effect.flatMap(findTask(id), (task) => Effect.asVoid(tasks.promote(task)))),
  wait: (id, timeout) =>
    given(Effect.flatMap(findTask(id), ({ parentID, taskID }) => tasks.wait({ parentID, taskIDs: [taskID], timeout })))
})
