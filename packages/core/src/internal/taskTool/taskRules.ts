/** Decides what a caller may start: which agents it is told of, and what has to be allowed before. */
import { formatRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import { Agent } from "../../Agent.ts"
import { Config } from "../../Config.ts"
import { Permission } from "../../Permission.ts"
import type { TaskInput } from "../../TaskInput.ts"
import { Tasks } from "../../Tasks.ts"
import type { PermissionAsk, ToolCaller } from "../../Tool.ts"
import { subjectOf } from "../calls/offer.ts"
import type { Live } from "../live/Live.ts"
import * as prompts from "../prompts.ts"
import { parseTask } from "./parseTask.ts"
import { taskError } from "./taskError.ts"

/** Describes the tool to one caller; undefined where it can start no agent at all. */
export const describe = Effect.fnUntraced(function*(live: Live) {
  const agents = yield* Agent
  const permission = yield* Permission
  const { settings: { limits } } = yield* Config
  if (live.info.depth >= limits.subagent_depth) return undefined
  const subject = yield* subjectOf(live)
  const lines: Array<string> = []
  for (const agent of agents.all) {
    if (agent.hidden || agent.mode === "primary") continue
    const action = yield* permission.decide(subject, taskCaller, askFor(agent.name, agent.name))
    if (action === "deny") continue
    lines.push(`- ${agent.name}: ${agent.description ?? "This subagent should only be called manually by the user."}`)
  }
  return lines.length === 0 ? undefined : `${prompts.taskTool}\n\nAgents:\n${lines.join("\n")}`
})

const taskCaller = { name: "task", permission: "task" } as const

const askFor = (agent: string, description: string, consented = false): PermissionAsk => ({
  permission: "task",
  patterns: [agent],
  always: ["*"],
  metadata: { description, subagent_type: agent },
  consented
})

/** Whether a caller may make agents of its own is not asked of the user's consent to an agent by name. */
const ownAsk = (agent: string, description: string): PermissionAsk => ({
  permission: "task_agent",
  patterns: [agent],
  always: [agent],
  metadata: { description, subagent_type: agent }
})

/** The arguments that a caller may not use: an agent of its own, unless its rules allow one. */
export const hidden = Effect.fnUntraced(function*(live: Live) {
  const agents = yield* Agent
  const permission = yield* Permission
  const subject = yield* subjectOf(live)
  for (const agent of agents.all) {
    if (agent.hidden || agent.mode === "primary") continue
    if ((yield* permission.decide(subject, taskCaller, ownAsk(agent.name, agent.name))) !== "deny") return []
  }
  return ["agent"]
})

/** What has to be allowed: the agent, an agent of the caller's making, and the model where the call names one. The user's own words count as consent. */
export const authorise = Effect.fnUntraced(function*(input: TaskInput, caller: ToolCaller) {
  const tasks = yield* Tasks
  const request = yield* parseTask(input, caller)
  yield* Effect.mapError(
    tasks.check(request),
    taskError
  )
  const asks = [askFor(request.agent, request.description, caller.consents.has(request.agent))]
  const named: ReadonlyArray<PermissionAsk> = "model" in request
    ? [{
      permission: "task_model",
      patterns: [formatRef(request.model)],
      always: [formatRef(request.model)],
      metadata: { subagent_type: request.agent },
      consented: caller.byUser
    }]
    : []
  return [...asks, ...named, ...("systemPrompt" in request ? [ownAsk(request.agent, request.description)] : [])]
})
