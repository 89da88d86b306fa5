/** Finds the stored sessions and tasks that ids of people and programs mean. Text that is no id is not found. */
import { RunID, SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { notFound } from "./SessionError.ts"
import { SessionStorage } from "./SessionStorage.ts"
import { TaskRefused } from "./TaskError.ts"
import type { TaskName } from "./TaskRequest.ts"

/** How much of a wrong id an error repeats. */
const shown = 100

const isSessionID = Schema.is(SessionID)
const isRunID = Schema.is(RunID)

/** The session of an id. */
export const findSession = Effect.fnUntraced(function*(id: string) {
  const storage = yield* SessionStorage
  const found = isSessionID(id) ? yield* storage.session(id) : Option.none()
  return Option.isSome(found) ? found.value : yield* notFound(id.slice(0, shown))
})

const noTask = (id: string) =>
  new TaskRefused({ reason: "not_found", message: `There is no task ${id.slice(0, shown)}. See \`skein tasks\`.` })

/** The task of an id, as a person names it. */
export const findTask = Effect.fnUntraced(function*(id: string) {
  const { id: taskID, parentID } = yield* Effect.catchTag(findSession(id), "SessionNotFound", () => noTask(id))
  return parentID === undefined ? yield* noTask(id) : { parentID, taskID, byUser: true } satisfies TaskName
})

/** The task of an id, which may also be that of one of its runs. */
export const findTaskOrRun = Effect.fnUntraced(function*(id: string) {
  if (!isRunID(id)) return yield* findTask(id)
  const storage = yield* SessionStorage
  const run = yield* storage.run(id)
  return yield* findTask(Option.isSome(run) ? run.value.taskID : yield* noTask(id))
})
