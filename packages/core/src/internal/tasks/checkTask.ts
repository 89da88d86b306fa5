/** Decides whether a task may be started or resumed, in the order that callers rely on. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import { SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Agent } from "../../Agent.ts"
import { Config } from "../../Config.ts"
import { TaskRefused, type TaskRequest } from "../../TaskRequest.ts"
import { ancestorsOf, type Live } from "../live/Live.ts"
import { misplaced } from "../live/places.ts"
import { inProject, SessionTable } from "../live/SessionTable.ts"

const isSessionID = Schema.is(SessionID)

const refuse = (reason: TaskRefused["reason"], message: string) => new TaskRefused({ reason, message })

const findAgent = Effect.fnUntraced(function*(name: string, byUser: boolean) {
  const agents = yield* Agent
  const agent = agents.all.find((each) => each.name === name)
  if (agent === undefined || agent.hidden || (agent.mode === "primary" && !byUser)) {
    const fault = yield* Effect.match(agents.get(name), {
      onFailure: (error) => error.fault,
      onSuccess: () => undefined
    })
    const why = fault !== undefined
      ? `: its file cannot be used.\n${fault}`
      : name === "command"
      ? ". Commands are run by people, with /NAME or `skein run --command NAME`; name an agent here."
      : ""
    return yield* refuse("unknown_agent", `Unknown agent type: ${name} is not a valid agent type${why}`)
  }
  return agent
})

const noParent = (id: SessionID) => refuse("parent_not_found", `Parent session not found: ${id}`)

/** The calling session. */
export const findParent = (id: SessionID) =>
  Effect.flatMap(SessionTable, (table) => Effect.catchTag(table.open(id), "SessionNotFound", () => noParent(id)))

/** Works with tasks of a session, and holds its tree meanwhile. */
export const inTree = <A, E, R>(id: SessionID, effect: (parent: Live) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(
    SessionTable,
    (table) =>
      table.work(id, (parent) => Effect.exit(effect(parent))).pipe(
        Effect.catchTags({
          SessionNotFound: () => noParent(id),
          ProjectUnavailable: ({ message }) => Effect.fail(refuse("project", message))
        }),
        Effect.flatten
      )
  )

/** The task does not exist, or no longer. */
export const unknownTask = (taskID: string) =>
  refuse("not_found", `Task not found: ${taskID.slice(0, 64)}. Leave task_id out to start a new task.`)

/** A child of a session by the id that a caller gives. */
export const findChild = Effect.fnUntraced(function*(parent: Live, taskID: string) {
  const table = yield* SessionTable
  const unknown = unknownTask(taskID)
  if (!isSessionID(taskID)) return yield* unknown
  const child = yield* Effect.catchTag(table.open(taskID), "SessionNotFound", () => unknown)
  if (
    child.info.id === parent.info.id || ancestorsOf(parent).includes(taskID) || child.info.parentID !== parent.info.id
  ) {
    return yield* refuse(
      "not_a_child",
      `Task ${taskID} is not a child of this session: only the session that started a task can resume it.`
    )
  }
  return child
})

const sameAgent = (child: SessionInfo, agent: AgentInfo) =>
  child.agent === agent.name
    ? Effect.void
    : Effect.fail(
      refuse(
        "agent_changed",
        `Task ${child.id} belongs to the agent ${child.agent}: resume it with that, or start a new task for ${agent.name}.`
      )
    )

/** A validated request. */
export interface CheckedTask {
  readonly parent: Live
  readonly agent: AgentInfo
  /** The child session, if the task exists already. */
  readonly child: Live | undefined
}

/** Checks the caller, then agent, depth, and the task to resume: reports the first fault. */
export const checkTask = (request: Omit<TaskRequest, "partID" | "timeout">) =>
  Effect.flatMap(findParent(request.parentID), (parent) => inProject(parent, check(parent, request)))

const check = Effect.fnUntraced(function*(parent: Live, request: Omit<TaskRequest, "partID" | "timeout">) {
  const { settings: { limits } } = yield* Config
  const agent = yield* findAgent(request.agent, request.byUser)
  if (request.byProgram !== true && parent.info.depth >= limits.subagent_depth) {
    return yield* refuse(
      "depth",
      `Tasks may be nested ${limits.subagent_depth} levels deep (limits.subagent_depth), and this session is at that depth. Do the work here.`
    )
  }
  if (request.taskID === undefined || request.taskID === "") {
    return { parent, agent, child: undefined } satisfies CheckedTask
  }
  const child = yield* findChild(parent, request.taskID)
  yield* sameAgent(child.info, agent)
  const why = misplaced(child.info, parent.info)
  if (why !== undefined) return yield* refuse("project", why)
  return { parent, agent, child } satisfies CheckedTask
})
