/** The `task` tool: how a model starts subagents, several at once, and what it is told of their ends. */
import { Milliseconds } from "@skein/domain/Milliseconds"
import { formatRef, type ModelRef, parseRef } from "@skein/domain/Model"
import type { Outcome } from "@skein/domain/Outcome"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agent } from "./Agent.ts"
import { Config } from "./Config.ts"
import { subjectOf } from "./internal/calls/offer.ts"
import type { Live } from "./internal/live/Live.ts"
import { SessionTable } from "./internal/live/SessionTable.ts"
import * as prompts from "./internal/prompts.ts"
import { acceptedText, outcomeText } from "./internal/tasks/taskTexts.ts"
import { servicesForLater } from "./internal/traced.ts"
import { Permission } from "./Permission.ts"
import type { ProjectServices } from "./Project.ts"
import type { Spill } from "./Spill.ts"
import type { StorageError } from "./StorageError.ts"
import type { TaskRefused } from "./TaskError.ts"
import { type Accepted, type TaskProgress, type TaskRequest, Tasks } from "./Tasks.ts"
import {
  define,
  type PermissionAsk,
  SharedTools,
  type ToolCaller,
  type ToolContext,
  ToolError,
  type ToolResult,
  Tools
} from "./Tool.ts"

const about = (description: string) => ({ description })

/** What a model says to start or resume a task. */
export const TaskInput = Schema.Struct({
  description: Schema.String.annotations(about("A short (3-5 words) description of the task, for people")),
  prompt: Schema.String.annotations(about("All that the subagent is told: what to do, where, and what to report")),
  subagent_type: Schema.String.annotations(about("The name of the agent that does the task")),
  task_id: Schema.optional(
    Schema.String.annotations(about("The task_id of an earlier task of yours, to go on with it"))
  ),
  session_id: Schema.optional(Schema.String.annotations(about("The same as task_id"))),
  command: Schema.optional(
    Schema.String.annotations(about("The command that led to this task: a label, nothing more"))
  ),
  background: Schema.optional(
    Schema.Boolean.annotations(
      about("true: the call returns at once, the subagent goes on by itself, and you are told when it has finished")
    )
  ),
  isolation: Schema.optional(
    Schema.Literal("worktree").annotations(
      about("worktree: the subagent works in a git worktree and on a branch of its own; its result names the branch")
    )
  ),
  cleanup: Schema.optional(
    Schema.Literal("keep", "delete").annotations(
      about("delete: the subagent's session is removed once you have its result, and cannot be resumed")
    )
  ),
  agent: Schema.optional(
    Schema.Struct({
      prompt: Schema.String.pipe(Schema.maxLength(20_000)).annotations(
        about("The system prompt of the subagent, in the second person: who it is and how it works")
      ),
      tools: Schema.optional(
        Schema.Array(Schema.String).annotations(
          about("The tools that it may use, of those that subagent_type may; all of these if left out")
        )
      )
    }).annotations({
      ...about(
        "An agent of your own making for this task: subagent_type with another system prompt, and with fewer tools"
      ),
      title: "an agent {prompt, tools}"
    })
  ),
  model: Schema.optional(Schema.String.annotations(about("A model for the subagent, as provider/model"))),
  timeout: Schema.optional(
    Milliseconds.annotations(about("How long the task may take, in milliseconds or as \"10m\"; 30 minutes if left out"))
  )
})
/** The type of what a model says. */
export interface TaskInput extends Schema.Schema.Type<typeof TaskInput> {}

const invalid = (message: string) => new ToolError({ kind: "invalid_arguments", message })

/** A refusal as the error of a call. */
export const taskError = (error: TaskRefused | StorageError) =>
  new ToolError({ kind: error._tag === "TaskRefused" ? error.reason : "storage", message: error.message })

/** What a call says of an agent of its own making, as rules and a prompt: both only narrow what `subagent_type` names. */
const ownAgent = Effect.fnUntraced(function*({ agent }: TaskInput, goesOn: boolean) {
  if (agent === undefined) return {}
  if (agent.prompt.trim() === "") return yield* invalid("task.agent.prompt must be a non-empty string")
  if (goesOn) return yield* invalid("task.agent: a task that goes on keeps its agent; leave task_id or agent out")
  const systemPrompt = agent.prompt.trim()
  const { tools: wanted } = agent
  if (wanted === undefined) return { systemPrompt }
  const all = (yield* Tools).all()
  const unknown = wanted.find((name) => !all.some((tool) => tool.name === name))
  if (unknown !== undefined) {
    return yield* invalid(
      `task.agent.tools: there is no tool "${unknown.slice(0, 64)}"; tools: ${all.map(({ name }) => name).join(", ")}`
    )
  }
  const keys = new Set(all.flatMap((tool) => wanted.includes(tool.name) ? [tool.permission] : []))
  // Named one by one: what is denied altogether no rule for a single command could allow again.
  const permission = [...new Set(all.map((tool) => tool.permission))].filter((key) => !keys.has(key))
    .map((key) => ({ permission: key, pattern: "*", action: "deny" } as const))
  return { systemPrompt, permission }
})

const requestOf = Effect.fnUntraced(function*(input: TaskInput, caller: ToolCaller) {
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

/** Describes the tool to one caller; undefined where it can start no agent at all. */
const describe = Effect.fnUntraced(function*(live: Live) {
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
const hidden = Effect.fnUntraced(function*(live: Live) {
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
const authorise = Effect.fnUntraced(function*(input: TaskInput, caller: ToolCaller) {
  const tasks = yield* Tasks
  const request = yield* requestOf(input, caller)
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

/** Words the outcome of a run for its call: a conclusion as a result, anything else as an error that says how it ended. */
const told = <E>(
  input: TaskInput,
  context: ToolContext,
  run: (request: TaskRequest, progress: TaskProgress) => Effect.Effect<Outcome | Accepted | undefined, E>
) =>
  Effect.gen(function*() {
    const request = yield* requestOf(input, context)
    const metadata: Record<string, unknown> = {
      parentSessionId: context.sessionID,
      agent: request.agent,
      background: request.background ?? false,
      status: "accepted",
      summary: []
    }
    const report = (more: Record<string, unknown>) => {
      Object.assign(metadata, more)
      return context.report({ title: request.description, metadata: { ...metadata } })
    }
    const spill = yield* Effect.context<Spill>()
    let text = ""
    const settled = Effect.fnUntraced(function*(end: Outcome) {
      text = yield* outcomeText(context.sessionID, end)
      Object.assign(metadata, { status: end.status, durationMs: end.durationMs, usage: end.usage })
      yield* context.ifCutOff(new ToolError({ kind: "task", message: text, metadata }))
      yield* context.tells([end.runID])
    })
    const end = yield* run({ ...request, partID: context.partID }, {
      started: ({ model, runID, taskID }) =>
        report({ sessionId: taskID, runId: runID, model: model ?? modelOf(context) }),
      summary: (summary) => report({ summary }),
      settled: (outcome) => Effect.provide(settled(outcome), spill)
    })
    if (end === undefined) return undefined
    Object.assign(metadata, { sessionId: end.taskID, runId: end.runID })
    if (end.status === "accepted") {
      text = acceptedText({ agent: request.agent, description: request.description, taskID: end.taskID })
      metadata["background"] = true
    } else if (end.status !== "completed") return yield* new ToolError({ kind: "task", message: text, metadata })
    return { title: request.description, output: text, metadata } satisfies ToolResult
  })

/** Runs the task of a call. */
const execute = Effect.fn("TaskTool.execute")(function*(input: TaskInput, context: ToolContext) {
  const tasks = yield* Tasks
  const result = yield* told(
    input,
    context,
    (request, progress) => Effect.mapError(tasks.run(request, progress), taskError)
  )
  return result ?? (yield* Effect.dieMessage("A task was run and did not end"))
})

/** Goes on with the task of a call that a crash cut off. */
const recover = Effect.fn("TaskTool.recover")(function*(input: TaskInput, context: ToolContext) {
  const tasks = yield* Tasks
  const result = yield* told(
    input,
    context,
    (_, progress) => Effect.mapError(tasks.reattach(context.sessionID, context.partID, progress), taskError)
  )
  return result ?? "again"
})

const modelOf = ({ model }: ToolContext): ModelRef => model

const callerGone = new ToolError({ kind: "not_found", message: "The session that makes this call is gone." })

/** The tool, and the layer that puts it into the registry. */
export const TaskTool = {
  /** Runs a task for a call: forks the subagent as a fiber of the call, and ends with its outcome. */
  execute,
  /** Adds the tool to the tools that there are. */
  layer: Layer.scopedDiscard(Effect.gen(function*() {
    const tools = yield* SharedTools
    const context = yield* servicesForLater<Tasks | Permission | SessionTable | Spill>()
    const table = yield* SessionTable
    type Here = Tasks | Permission | ProjectServices | SessionTable | Spill
    /** Each project has its own agents and tools: those of the caller's count. */
    const forCaller = <A, E>(caller: ToolCaller, nobody: A, effect: (live: Live) => Effect.Effect<A, E, Here>) => {
      const live = table.peek(caller.sessionID)
      return live === undefined
        ? Effect.succeed(nobody)
        : Effect.provide(table.inProject(live, effect(live)), context)
    }
    const calling = <A>(caller: ToolCaller, effect: Effect.Effect<A, ToolError, Here>) =>
      Effect.flatten(
        forCaller(caller, Exit.fail(callerGone), () => Effect.exit(effect))
      )
    yield* tools.register(define<TaskInput>({
      name: "task",
      describe: (caller) =>
        forCaller(caller, undefined, (live) =>
          // Without its agent, which may be gone by now, a session does nothing more.
          Effect.catchTag(describe(live), "AgentNotFound", () => Effect.succeed(undefined))),
      parameters: TaskInput,
      hides: (caller) =>
        forCaller(
          caller,
          ["agent"],
          (live) => Effect.catchTag(hidden(live), "AgentNotFound", () => Effect.succeed(["agent"]))
        ),
      effect: "never",
      waits: true,
      title: (input) => input.description,
      authorise: (input, caller) => calling(caller, authorise(input, caller)),
      execute: (input, call) => calling(call, execute(input, call)),
      recover: (input, call) => calling(call, recover(input, call))
    }))
  }))
}
