/** The `task` tool: how a model starts subagents, several at once, and what it reads of their outcomes. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type { Live } from "./internal/live/Live.ts"
import { SessionTable } from "./internal/live/SessionTable.ts"
import { parseTask } from "./internal/taskTool/parseTask.ts"
import { makeTaskCall } from "./internal/taskTool/TaskCall.ts"
import { taskError } from "./internal/taskTool/taskError.ts"
import { authorise, describe, hidden } from "./internal/taskTool/taskRules.ts"
import { servicesForLater } from "./internal/traced.ts"
import type { Permission } from "./Permission.ts"
import type { ProjectServices } from "./Project.ts"
import type { Spill } from "./Spill.ts"
import { TaskInput } from "./TaskInput.ts"
import { Tasks } from "./Tasks.ts"
import { define, SharedTools, type ToolCaller, type ToolContext, ToolError } from "./Tool.ts"

/**
 * Runs the task of a call. Several calls of one answer do this at the same time, so their subagents work in parallel.
 * Interrupting the call ends the run, unless it continues in the background.
 */
const execute = Effect.fn("TaskTool.execute")(function*(input: TaskInput, context: ToolContext) {
  const tasks = yield* Tasks
  const request = yield* parseTask(input, context)
  const call = yield* makeTaskCall(request, context)
  // Nothing can come between, so a started run is always awaited.
  const end = yield* Effect.uninterruptible(Effect.gen(function*() {
    // Checks the request, creates or resumes the child session, and forks its fiber in the scope of the caller's
    // session.
    const run = yield* tasks.start({ ...request, partID: context.partID }, call.progress)
    return request.background === true ? run.accepted : yield* run.join
  })).pipe(Effect.mapError(taskError))
  // Wraps the outcome in <task_result>, or says how else the run ended.
  return yield* call.result(end)
})

/**
 * Finds the run of a call that a crash interrupted, and waits for it. If no run was stored, it makes the call again.
 */
const recover = Effect.fn("TaskTool.recover")(function*(input: TaskInput, context: ToolContext) {
  const tasks = yield* Tasks
  const request = yield* parseTask(input, context)
  const call = yield* makeTaskCall(request, context)
  const end = yield* Effect.mapError(tasks.reattach(context.sessionID, context.partID, call.progress), taskError)
  return end === undefined ? "again" as const : yield* call.result(end)
})

const callerGone = new ToolError({ kind: "not_found", message: "The session that makes this call is gone." })

/** The tool, and the layer that registers it. */
export const TaskTool = {
  /** Runs a task for a call: forks the subagent as a fiber of the call, and ends with its outcome. */
  execute,
  /** Adds the tool to the registry. */
  layer: Layer.scopedDiscard(Effect.gen(function*() {
    const tools = yield* SharedTools
    const context = yield* servicesForLater<Tasks | Permission | SessionTable | Spill>()
    const table = yield* SessionTable
    type Here = Tasks | Permission | ProjectServices | SessionTable | Spill
    /** Each project has its own agents and tools: those of the caller apply. */
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
          // A session whose agent no longer exists does nothing more.
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
