/** Decides what a caller may start: which agents it sees, and what must be allowed first. */
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

/** Describes the tool to one caller; undefined if it can start no agent at all. */
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

/** Naming an agent does not consent to custom agents, so a caller's right to them is checked by rules alone. */
const ownAsk = (agent: string, description: string): PermissionAsk => ({
  permission: "task_agent",
  patterns: [agent],
  always: [agent],
  metadata: { description, subagent_type: agent }
})

/** The arguments that a caller may not use: a custom agent, unless its rules allow one. */
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

/**
 * What needs permission: the agent, a custom agent, and the model if the call names one. Naming the agent in a prompt
 * counts as the user's consent.
 */
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
