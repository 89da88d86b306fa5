/** The `task` tool: how a model starts subagents, several at once, and what it reads of their outcomes. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import { Milliseconds } from "@skein/domain/Milliseconds"
import { formatRef, parseRef } from "@skein/domain/Model"
import type { Outcome } from "@skein/domain/Outcome"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agent } from "./Agent.ts"
import { Config } from "./Config.ts"
import { subjectOf } from "./internal/calls/offer.ts"
import { providing } from "./internal/fibers.ts"
import type { Live } from "./internal/live/Live.ts"
import { SessionTable } from "./internal/live/SessionTable.ts"
import * as prompts from "./internal/prompts.ts"
import { acceptedText, outcomeText } from "./internal/tasks/taskTexts.ts"
import { servicesForLater } from "./internal/traced.ts"
import { Permission } from "./Permission.ts"
import type { ProjectServices } from "./Projects.ts"
import { Spill } from "./Spill.ts"
import type { StorageError } from "./StorageError.ts"
import type { Accepted, StartedTask, TaskProgress, TaskRefused, TaskRequest } from "./TaskRequest.ts"
import { Tasks } from "./Tasks.ts"
import {
  define,
  Parked,
  type PermissionAsk,
  SharedTools,
  type ToolCaller,
  type ToolContext,
  ToolError,
  type ToolResult,
  Tools
} from "./Tool.ts"

const about = (description: string) => ({ description })

/** The arguments with which a model starts or resumes a task. */
export const TaskInput = Schema.Struct({
  description: Schema.String.annotations(about("A short (3-5 words) description of the task, for people")),
  prompt: Schema.String.annotations(about("All that the subagent reads")),
  subagent_type: Schema.String.annotations(about("The name of the agent that does the task")),
  task_id: Schema.optional(
    Schema.String.annotations(about("An earlier task of yours, to continue it"))
  ),
  session_id: Schema.optional(Schema.String.annotations(about("The same as task_id"))),
  command: Schema.optional(
    Schema.String.annotations(about("The command that led to this task, only as a label"))
  ),
  background: Schema.optional(
    Schema.Boolean.annotations(
      about("true: work in the background")
    )
  ),
  isolation: Schema.optional(
    Schema.Literal("worktree").annotations(
      about("worktree: the subagent works in its own git worktree, on its own branch; its result names the branch")
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
        "A custom agent for this task: subagent_type with another system prompt and fewer tools"
      ),
      title: "an agent {prompt, tools}"
    })
  ),
  model: Schema.optional(Schema.String.annotations(about("A model for the subagent, as provider/model"))),
  timeout: Schema.optional(
    Milliseconds.annotations(about("How long the task may take, in milliseconds or as \"10m\"; 30 minutes if left out"))
  )
})
/** The type of these arguments. */
export interface TaskInput extends Schema.Schema.Type<typeof TaskInput> {}

/**
 * Runs the task of a call. Several calls of one answer do this at the same time, so their subagents work in parallel.
 * Interrupting the call ends the run, unless it continues in the background.
 */
export const TaskTool = Effect.fn("TaskTool")(function*(input: TaskInput, call: ToolContext) {
  const tasks = yield* Tasks
  const request = yield* parse(input, call)
  const report = yield* makeReport(request, call)
  // Creates a child session, or resumes that of `task_id`; stores the run; and forks its fiber in the scope of the calling
  // session as soon as it has a slot. The call waits for it, and wraps its conclusion in <task_result>.
  return joining(tasks.fork({ ...request, partID: call.partID }, report.progress), report)
})

/** A call that waits for a run: a thousand may. A run in the background keeps no call waiting. */
const joining = (fork: Effect.Effect<StartedTask, TaskRefused | StorageError>, { result }: Report): Parked =>
  new Parked(Effect.mapBoth(fork, {
    onFailure: taskError,
    onSuccess: (run) => ({ onReady: run.onEnd, result: Effect.flatMap(Effect.mapError(run.join, taskError), result) })
  }))

/** What a call shows while its run works, and how the run's outcome becomes its result. */
const makeReport = Effect.fnUntraced(function*({ agent, background, description }: TaskRequest, call: ToolContext) {
  const spill = yield* Spill
  let text = ""
  let metadata: Readonly<Record<string, unknown>> = {
    parentSessionId: call.sessionID,
    agent,
    background: background === true,
    status: "accepted",
    summary: []
  }
  const note = (more: Readonly<Record<string, unknown>>) => {
    metadata = { ...metadata, ...more }
  }
  const show = (more: Readonly<Record<string, unknown>>) => {
    note(more)
    return call.report({ title: description, metadata })
  }
  const failed = () => new ToolError({ kind: "task", message: text, metadata })
  const progress: TaskProgress = {
    started: ({ model, runID, taskID }) => show({ sessionId: taskID, runId: runID, model: model ?? call.model }),
    summary: (summary) => show({ summary }),
    // Before the run ends, so that an interrupted call reports its outcome as well.
    settled: (outcome) =>
      Effect.gen(function*() {
        text = yield* outcomeText(call.sessionID, outcome)
        note({ status: outcome.status, durationMs: outcome.durationMs, usage: outcome.usage })
        yield* call.ifCutOff(failed())
        yield* call.tells([outcome.runID])
      }).pipe(Effect.provideService(Spill, spill))
  }
  /** A conclusion is a result. Anything else is an error that says how the run ended. */
  const result = (end: Outcome | Accepted): Effect.Effect<ToolResult, ToolError> => {
    note({ sessionId: end.taskID, runId: end.runID, ...(end.status === "accepted" ? { background: true } : {}) })
    if (end.status === "accepted") {
      const output = acceptedText({ agent, description, taskID: end.taskID })
      return Effect.succeed({ title: description, output, metadata })
    }
    return end.status === "completed" ? Effect.succeed({ title: description, output: text, metadata }) : failed()
  }
  return { progress, result }
})

type Report = Effect.Effect.Success<ReturnType<typeof makeReport>>

/** Finds the run of a call that a crash interrupted, and waits for it. If no run was stored, the call is made again. */
const recover = Effect.fnUntraced(function*(input: TaskInput, call: ToolContext) {
  const tasks = yield* Tasks
  const request = yield* parse(input, call)
  const report = yield* makeReport(request, call)
  const run = yield* Effect.mapError(tasks.ofCall(call.sessionID, call.partID), taskError)
  return run === undefined ? "again" as const : joining(tasks.reattach(run, report.progress), report)
})

/** A refusal as the error of a call. */
export const taskError = (error: TaskRefused | StorageError) =>
  new ToolError({ kind: error._tag === "TaskRefused" ? error.reason : "storage", message: error.message })

const invalid = (message: string) => new ToolError({ kind: "invalid_arguments", message })

/** The custom agent of a call, as rules and a prompt: both only narrow what `subagent_type` names. */
const ownAgent = Effect.fnUntraced(function*({ agent }: TaskInput, caller: ToolCaller, isResumed: boolean) {
  if (agent === undefined) return {}
  if (agent.prompt.trim() === "") return yield* invalid("task.agent.prompt must be a non-empty string")
  if (isResumed) return yield* invalid("task.agent: a resumed task keeps its agent; leave out task_id or agent")
  const systemPrompt = agent.prompt.trim()
  const { tools: named } = agent
  if (named === undefined) return { systemPrompt }
  const all = yield* asCaller(caller, () => Effect.map(Tools, (tools) => tools.all()))
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
const parse = Effect.fnUntraced(function*(input: TaskInput, caller: ToolCaller) {
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
  const own = yield* ownAgent(input, caller, taskID !== undefined && taskID !== "")
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

const isSubagent = ({ hidden, mode }: AgentInfo): boolean => !hidden && mode !== "primary"

/** Describes the tool to one caller; undefined if it can start no agent at all. */
const describe = Effect.fnUntraced(function*(live: Live) {
  const agents = yield* Agent
  const permission = yield* Permission
  const { settings: { limits } } = yield* Config
  if (live.info.depth >= limits.subagent_depth) return undefined
  const subject = yield* subjectOf(live)
  const lines = agents.all.filter((agent) =>
    isSubagent(agent) && !permission.denies(subject, taskCaller, askFor(agent.name, agent.name))
  ).map(({ description, name }) =>
    `- ${name}: ${description ?? "This subagent should only be called manually by the user."}`
  )
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
const hidden = Effect.fnUntraced(function*(live: Live) {
  const agents = yield* Agent
  const permission = yield* Permission
  const subject = yield* subjectOf(live)
  const mayMake = agents.all.some((agent) =>
    isSubagent(agent) && !permission.denies(subject, taskCaller, ownAsk(agent.name, agent.name))
  )
  return mayMake ? [] : ["agent"]
})

/**
 * What needs permission: the agent, a custom agent, and the model if the call names one. Naming the agent in a prompt
 * counts as the user's consent.
 */
const authorise = Effect.fnUntraced(function*(input: TaskInput, caller: ToolCaller) {
  const tasks = yield* Tasks
  const request = yield* parse(input, caller)
  yield* Effect.mapError(tasks.check(request), taskError)
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

/** Runs an effect with the services of the caller's project: its own agents and tools apply. */
const asCaller = <A, E, R>(
  caller: ToolCaller,
  effect: (live: Live) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | ToolError, SessionTable | Exclude<R, ProjectServices>> =>
  Effect.flatMap(
    SessionTable,
    (table): Effect.Effect<A, E | ToolError, Exclude<R, ProjectServices>> => {
      const live = table.peek(caller.sessionID)
      return live === undefined
        ? new ToolError({ kind: "not_found", message: "The session that makes this call is gone." })
        : table.inProject(live, effect(live))
    }
  )

/** A session that is gone, or whose agent no longer exists, does nothing more. */
const otherwise = <B>(nothing: B) => ({
  AgentNotFound: () => Effect.succeed(nothing),
  ToolError: () => Effect.succeed(nothing)
})

/** Adds the tool to the registry. */
export const layer = Layer.scopedDiscard(Effect.gen(function*() {
  const tools = yield* SharedTools
  const provided = providing(yield* servicesForLater<Tasks | Permission | SessionTable | Spill>())
  yield* tools.register(define<TaskInput>({
    name: "task",
    describe: (caller) => provided(Effect.catchTags(asCaller(caller, describe), otherwise(undefined))),
    parameters: TaskInput,
    hides: (caller) => provided(Effect.catchTags(asCaller(caller, hidden), otherwise(["agent"]))),
    effect: "never",
    waits: true,
    title: (input) => input.description,
    authorise: (input, caller) => provided(asCaller(caller, () => authorise(input, caller))),
    execute: (input, call) => provided(TaskTool(input, call)),
    recover: (input, call) => provided(recover(input, call))
  }))
}))
