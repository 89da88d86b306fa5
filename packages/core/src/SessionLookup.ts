/**
 * Finds the stored sessions and tasks that ids of people and programs mean, where text that is no id is not found, and the
 * trees at which nobody has worked for a while.
 */
import { RunID, SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { isOver, SessionStorage } from "./SessionStorage.ts"
import { type TaskName, TaskRefused } from "./TaskRequest.ts"
import { notFound } from "./Turn.ts"

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

/**
 * The trees that have not changed since then, each with its lease, which nobody holds. A tree with unsettled runs does
 * not rest: somebody may be at work in it, or resume it.
 */
export const restingTrees = Effect.fnUntraced(function*(since: number, projectID: string | undefined) {
  const store = yield* SessionStorage
  const found = yield* store.sessions({ roots: true, ...(projectID === undefined ? {} : { projectID }) })
  const old = found.rows.filter(({ time }) => time.updated < since)
  const resting = yield* Effect.filter(old, ({ id: rootID }) =>
    Effect.zipWith(
      store.sessions({ rootID }),
      store.runs({ rootID, unsettled: true }),
      (tree, runs) =>
        tree.unreadable.length + runs.rows.length + runs.unreadable.length === 0
        && tree.rows.every(({ time }) => time.updated < since)
    ))
  const free = yield* Effect.forEach(resting, (root) =>
    Effect.map(
      store.lease(root.id),
      Option.match({
        onNone: () => [],
        onSome: (lease) => lease.owner === undefined || isOver(lease) ? [{ root, found: lease }] : []
      })
    ))
  return free.flat()
})
