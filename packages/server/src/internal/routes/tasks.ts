/** Implements the routes of tasks. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Api } from "@skein/api/Api"
import type { WaitForTasks } from "@skein/api/Input"
import { problem } from "@skein/api/Problem"
import { SessionStorage } from "@skein/core/SessionStorage"
import { Tasks } from "@skein/core/Tasks"
import { groupBy } from "effect/Array"
import * as Effect from "effect/Effect"
import { findSession } from "./find.ts"
import { asProblem } from "./toProblem.ts"

const noTask = (id: string) => problem(404, "TaskNotFound", `There is no task ${id.slice(0, 100)}.`)

/** The task of an id, as its caller names it. */
const findTask = Effect.fnUntraced(function*(id: string) {
  const { id: taskID, parentID } = yield* Effect.mapError(
    asProblem(findSession(id)),
    (error) => error.status === 404 ? noTask(id) : error
  )
  return parentID === undefined ? yield* Effect.fail(noTask(id)) : { parentID, taskID, byUser: true } as const
})

const show = Effect.fnUntraced(function*(id: string) {
  const storage = yield* SessionStorage
  const tasks = yield* Tasks
  const { parentID, taskID } = yield* findTask(id)
  const { rows: runs } = yield* asProblem(storage.runs({ taskID }))
  const last = runs.at(-1)
  if (last === undefined) return yield* Effect.fail(noTask(id))
  const [status] = yield* asProblem(tasks.status({ parentID, taskID }))
  return { taskID, parentID, rootID: last.rootID, agent: last.agent, runs, doing: status?.doing ?? "" }
})

/** Waits for tasks, whichever sessions started them. */
const wait = Effect.fnUntraced(function*({ tasks: ids, timeout }: typeof WaitForTasks.Type) {
  const tasks = yield* Tasks
  const named = yield* Effect.forEach([...new Set(ids)], findTask)
  const families = Object.values(groupBy(named, ({ parentID }) => parentID))
  const waited = yield* Effect.forEach(families, (family) =>
    asProblem(tasks.wait({
      parentID: family[0].parentID,
      taskIDs: family.map(({ taskID }) => taskID),
      ...(timeout === undefined ? {} : { timeout })
    })), { concurrency: "unbounded" })
  return {
    settled: waited.flatMap(({ settled }) => settled),
    pending: waited.flatMap(({ pending }) => pending)
  }
})

/** The routes of tasks. */
export const taskRoutes = HttpApiBuilder.group(Api, "tasks", (handlers) =>
  handlers
    .handle("list", ({ urlParams }) =>
      Effect.gen(function*() {
        const storage = yield* SessionStorage
        const { rootID } = yield* asProblem(findSession(urlParams.session))
        return { items: (yield* asProblem(storage.runs({ rootID }))).rows }
      }))
    .handle("get", ({ path }) => show(path.id))
    .handle("stop", ({ path, payload: { reason } }) =>
      Effect.gen(function*() {
        const tasks = yield* Tasks
        const task = yield* findTask(path.id)
        const by = { by: "the user", ...(reason === undefined ? {} : { reason }) }
        return { outcomes: yield* asProblem(tasks.stop(task, by)) }
      }))
    .handle("message", ({ path, payload }) =>
      Effect.gen(function*() {
        const tasks = yield* Tasks
        const told = yield* asProblem(tasks.message(yield* findTask(path.id), payload.message))
        return told === "steered" ? { status: told } as const : told
      }))
    .handle("wait", ({ payload }) => wait(payload))
    .handle("promote", ({ path }) =>
      Effect.gen(function*() {
        const tasks = yield* Tasks
        yield* asProblem(tasks.promote(yield* findTask(path.id)))
      })))
