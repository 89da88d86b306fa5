/** Parses the arguments of a call as a request to the tasks. */
import { formatRef, parseRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import type { TaskInput } from "../../TaskInput.ts"
import type { TaskRequest } from "../../TaskRequest.ts"
import { type ToolCaller, ToolError, Tools } from "../../Tool.ts"

const invalid = (message: string) => new ToolError({ kind: "invalid_arguments", message })

/** The custom agent of a call, as rules and a prompt: both only narrow what `subagent_type` names. */
const ownAgent = Effect.fnUntraced(function*({ agent }: TaskInput, isResumed: boolean) {
  if (agent === undefined) return {}
  if (agent.prompt.trim() === "") return yield* invalid("task.agent.prompt must be a non-empty string")
  if (isResumed) return yield* invalid("task.agent: a resumed task keeps its agent; leave out task_id or agent")
  const systemPrompt = agent.prompt.trim()
  const { tools: named } = agent
  if (named === undefined) return { systemPrompt }
  const all = (yield* Tools).all()
  const unknown = named.find((name) => !all.some((tool) => tool.name === name))
  if (unknown !== undefined) {
    return yield* invalid(
      `task.agent.tools: there is no tool "${unknown.slice(0, 64)}"; tools: ${all.map(({ name }) => name).join(", ")}`
    )
  }
  const keys = new Set(all.flatMap((tool) => named.includes(tool.name) ? [tool.permission] : []))
  // Denied one by one: after a blanket denial, a rule for a single command could allow part of it again.
  const permission = [...new Set(all.map((tool) => tool.permission))].filter((key) => !keys.has(key))
    .map((key) => ({ permission: key, pattern: "*", action: "deny" } as const))
  return { systemPrompt, permission }
})

/** The request of a call with valid arguments. */
export const parseTask = Effect.fnUntraced(function*(input: TaskInput, caller: ToolCaller) {
  for (const field of ["description", "prompt", "subagent_type"] as const) {
    if (input[field].trim() === "") return yield* invalid(`task.${field} must be a non-empty string`)
  }
  const model = input.model === undefined ? undefined : parseRef(input.model)
  if (input.model !== undefined && model === undefined) {
    return yield* invalid(
      `task.model must be a provider/model name such as ${formatRef(caller.model)}, not "${input.model}"`
    )
  }
  const taskID = input.task_id || input.session_id
  const own = yield* ownAgent(input, taskID !== undefined && taskID !== "")
  return {
    ...own,
    parentID: caller.sessionID,
    agent: input.subagent_type,
    description: input.description,
    prompt: input.prompt,
    callerModel: caller.model,
    byUser: caller.byUser,
    ...(taskID === undefined || taskID === "" ? {} : { taskID }),
    ...(model === undefined ? {} : { model }),
    ...(input.timeout === undefined ? {} : { timeout: input.timeout }),
    ...(input.background === true ? { background: true } : {}),
    ...(input.isolation === undefined ? {} : { isolation: input.isolation }),
    ...(input.cleanup === undefined ? {} : { cleanup: input.cleanup })
  } satisfies TaskRequest
})
