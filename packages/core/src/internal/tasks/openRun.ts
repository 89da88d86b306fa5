/** The beginning of a run: the child session, and the row that says that it was asked for. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import { Ids } from "@skein/domain/Id"
import type { TaskRun } from "@skein/domain/Outcome"
import type { Ruleset } from "@skein/domain/Rule"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { none as noFiber } from "effect/FiberId"
import { Journal } from "../../Journal.ts"
import { Session } from "../../Session.ts"
import type { Write } from "../../SessionStorage.ts"
import { TaskRefused } from "../../TaskError.ts"
import type { TaskRequest } from "../../Tasks.ts"
import { type Live, pathOf } from "../session/live.ts"
import { SessionTable } from "../session/SessionTable.ts"
import type { CheckedTask } from "./checkTask.ts"
import type { RunningTask } from "./runningTask.ts"

/** What a subagent may not do unless its own definition speaks of it. */
const reserved = ["todowrite", "todoread", "task"] as const

const childRules = (agent: AgentInfo): Ruleset =>
  reserved
    .filter((key) => !agent.permission.some((rule) => rule.permission === key))
    .map((permission) => ({ permission, pattern: "*", action: "deny" }))

/** The child session: the one to go on with, or a new one that begins clean. */
const openChild = Effect.fnUntraced(function*({ agent, child, parent }: CheckedTask, request: TaskRequest) {
  if (child !== undefined) return child
  const session = yield* Session
  const table = yield* SessionTable
  const model = request.model ?? (agent.model.length > 0 ? undefined : request.callerModel ?? parent.info.model)
  const info = yield* session.createChild(parent.info.id, {
    agent: agent.name,
    title: `${request.description} (@${agent.name} subagent)`,
    permission: childRules(agent),
    ...(model === undefined ? {} : { model })
  }).pipe(
    Effect.catchTag(
      "SessionNotFound",
      (error) => new TaskRefused({ reason: "parent_not_found", message: error.message })
    )
  )
  return yield* table.open(info.id).pipe(
    Effect.catchTag("SessionNotFound", (error) => new TaskRefused({ reason: "not_found", message: error.message }))
  )
})

/** What every event of a run says. */
export const factsOf = (run: TaskRun, live: Live) => ({
  task_id: run.taskID,
  run_id: run.id,
  trigger_session_id: run.parentID,
  root: run.rootID,
  depth: live.info.depth,
  path: pathOf(live),
  agent: run.agent,
  description: run.description
})

/** Opens the child session and stores the run as asked for; from here on it has an outcome, whatever happens. */
export const openRun = Effect.fnUntraced(function*(
  checked: CheckedTask,
  request: TaskRequest,
  also: ReadonlyArray<Write>
) {
  const ids = yield* Ids
  const journal = yield* Journal
  const live = yield* openChild(checked, request)
  const now = yield* Clock.currentTimeMillis
  const background = request.background === true
  const row: TaskRun = {
    id: yield* ids.make("run"),
    taskID: live.info.id,
    parentID: request.parentID,
    rootID: live.info.rootID,
    ...(request.partID === undefined ? {} : { partID: request.partID }),
    agent: live.info.agent,
    description: request.description,
    prompt: request.prompt,
    background,
    ...(request.cleanup === undefined ? {} : { cleanup: request.cleanup }),
    state: "queued",
    time: { created: now }
  }
  const facts = factsOf(row, live)
  yield* journal.commit([{ _tag: "Run", run: row }, ...also], [
    journal.event(live.info, "subagent.created", facts, now),
    ...(background ? [journal.event(live.info, "background_task.started", facts, now)] : [])
  ])
  const task: RunningTask = {
    row,
    live,
    working: undefined,
    stop: undefined,
    isSettling: false,
    fiber: undefined,
    release: undefined,
    ended: Deferred.unsafeMake(noFiber)
  }
  if (request.cleanup === "delete") checked.parent.disposable.set(row.id, row.taskID)
  checked.parent.tasks.add(task)
  return task
})
