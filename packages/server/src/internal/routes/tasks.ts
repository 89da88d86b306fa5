/** Implements the routes of tasks. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Api } from "@skein/api/Api"
import type { WaitForTasks } from "@skein/api/Input"
import type { Told } from "@skein/api/Output"
import { problem } from "@skein/api/Problem"
import { findTask, findTaskOrRun, newestRuns, runsBelow } from "@skein/core/SessionLookup"
import { SessionStorage } from "@skein/core/SessionStorage"
import { Tasks } from "@skein/core/Tasks"
import type { Receipt } from "@skein/core/Write"
import { MessageID, RunID } from "@skein/domain/Id"
import { withoutTerms } from "@skein/domain/Outcome"
import { groupBy } from "effect/Array"
import * as Effect from "effect/Effect"
import { once } from "./once.ts"
import { noting } from "./reached.ts"
import { asProblem } from "./toProblem.ts"

const show = Effect.fnUntraced(function*(id: string) {
  const storage = yield* SessionStorage
  const tasks = yield* Tasks
  const { parentID, taskID } = yield* asProblem(findTaskOrRun(id))
  const { rows: runs } = yield* asProblem(storage.runs({ taskID }))
  const last = runs.at(-1)
  if (last === undefined) return yield* Effect.fail(problem(404, "TaskNotFound", `The task ${id} has no run.`))
  const [status] = yield* asProblem(tasks.status({ parentID, taskID }))
  return {
    taskID,
    parentID,
    rootID: last.rootID,
    agent: last.agent,
    runs: runs.map(withoutTerms),
    doing: status?.doing ?? ""
  }
})

/** The answer to a message, from its receipt: the ids of the message, and of the run that it started. */
const toldBefore = ({ result, sessionID: taskID }: Receipt): typeof Told.Type => {
  const [message = "", run] = result.split(" ")
  const messageID = MessageID.make(message)
  return run === undefined
    ? { status: "steered", messageID }
    : { status: "accepted", messageID, taskID, runID: RunID.make(run) }
}

interface Message {
  readonly id: string
  readonly message: string
  readonly key: string | undefined
}

const tell = ({ id, key, message }: Message) =>
  once(
    { key, content: ["message", id, message] },
    Effect.fnUntraced(function*(receipt) {
      const tasks = yield* Tasks
      const task = yield* asProblem(findTask(id))
      let messageID: MessageID | undefined
      const onStored = (stored: MessageID) => void (messageID = stored)
      const told = yield* asProblem(
        tasks.message(task, message, { onStored, ...(receipt === undefined ? {} : { receipt }) })
      )
      if (messageID === undefined) return yield* Effect.dieMessage("A message was reported that is not stored")
      return told === "steered" ? { status: told, messageID } as const : { ...told, messageID }
    }),
    (receipt) => Effect.succeed(toldBefore(receipt))
  )

/** Waits for tasks, whichever sessions started them. */
const wait = Effect.fnUntraced(function*({ tasks: ids, timeout }: typeof WaitForTasks.Type) {
  const tasks = yield* Tasks
  const named = yield* asProblem(Effect.forEach([...new Set(ids)], findTask))
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
    .handle("list", ({ urlParams: { session, ...page } }) =>
      asProblem(session === undefined ? newestRuns(page) : runsBelow(session, page)))
    .handle("get", ({ path }) =>
      show(path.id))
    .handle("stop", ({ path, payload: { reason } }) =>
      Effect.gen(function*() {
        const tasks = yield* Tasks
        const task = yield* asProblem(findTask(path.id))
        const by = { by: "the user", ...(reason === undefined ? {} : { reason }) }
        return { outcomes: yield* asProblem(tasks.stop(task, by)) }
      }))
    .handle("message", ({ headers, path, payload }) =>
      tell({ id: path.id, key: headers["idempotency-key"], message: payload.message }))
    .handle("wait", ({ payload }) =>
      wait(payload))
    .handle("promote", ({ path }) =>
      Effect.gen(function*() {
        const tasks = yield* Tasks
        yield* asProblem(tasks.promote(yield* asProblem(findTask(path.id))))
      }))
    .pipe(noting))
