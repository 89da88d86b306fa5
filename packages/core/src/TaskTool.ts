/** The `task` tool: how a model starts subagents, several at once, and what it reads of their outcomes. */
import type { Outcome } from "@skein/domain/Outcome"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { providing } from "./internal/fibers.ts"
import type { Live } from "./internal/live/Live.ts"
import { SessionTable } from "./internal/live/SessionTable.ts"
import { parseTask } from "./internal/taskTool/parseTask.ts"
import { makeTaskCall } from "./internal/taskTool/TaskCall.ts"
import { taskError } from "./internal/taskTool/taskError.ts"
import { authorise, describe, hidden } from "./internal/taskTool/taskRules.ts"
import { servicesForLater } from "./internal/traced.ts"
import type { Permission } from "./Permission.ts"
import type { ProjectServices } from "./Projects.ts"
import type { Spill } from "./Spill.ts"
import type { StorageError } from "./StorageError.ts"
import { TaskInput } from "./TaskInput.ts"
import type { Accepted } from "./TaskRequest.ts"
import { Tasks } from "./Tasks.ts"
import { define, SharedTools, type ToolCaller, type ToolContext, ToolError } from "./Tool.ts"

/** Starts the task of a call; gives what waits for its result. */
const start = Effect.fnUntraced(function*(input: TaskInput, context: ToolContext, restore: Restore) {
  const tasks = yield* Tasks
  const request = yield* restore(parseTask(input, context))
  const call = yield* makeTaskCall(request, context)
  // Checks the request, creates or resumes the child session, and forks its fiber in the scope of the caller's session.
  const run = yield* Effect.mapError(
    tasks.start({ ...request, partID: context.partID }, call.progress),
    taskError
  )
  const end: Effect.Effect<Outcome | Accepted, StorageError> = request.background === true
    ? Effect.succeed(run.accepted)
    : run.join
  // Wraps the outcome in <task_result>, or says how else the run ended.
  const result = Effect.matchEffect(end, {
    onFailure: (error) => Effect.fail(taskError(error)),
    onSuccess: call.result
  })
  return context.leave === undefined || request.background === true
    ? result
    : context.leave({ onReady: run.onEnd, result })
})

/**
 * Finds the run of a call that a crash interrupted, and waits for it. If no run was stored, it makes the call again.
 */
const recover = Effect.fnUntraced(function*(input: TaskInput, context: ToolContext) {
  const tasks = yield* Tasks
  const request = yield* parseTask(input, context)
  const call = yield* makeTaskCall(request, context)
  const end = yield* Effect.mapError(tasks.reattach(context.sessionID, context.partID, call.progress), taskError)
  return end === undefined ? "again" as const : yield* call.result(end)
})

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

const callerGone = new ToolError({ kind: "not_found", message: "The session that makes this call is gone." })

/** The tool, and the layer that registers it. */
export const TaskTool = {
  /** Adds the tool to the registry. */
  layer: Layer.scopedDiscard(Effect.gen(function*() {
    const tools = yield* SharedTools
    const provided = providing(yield* servicesForLater<Tasks | Permission | SessionTable | Spill>())
    const table = yield* SessionTable
    type Here = Tasks | Permission | ProjectServices | SessionTable | Spill
    /** Each project has its own agents and tools: those of the caller apply. */
    const forCaller = <A, E>(caller: ToolCaller, nobody: A, effect: (live: Live) => Effect.Effect<A, E, Here>) => {
      const live = table.peek(caller.sessionID)
      return live === undefined
        ? Effect.succeed(nobody)
        : provided(table.inProject(live, effect(live)))
    }
    const calling = <A>(caller: ToolCaller, effect: Effect.Effect<A, ToolError, Here>) =>
      Effect.flatten(
        forCaller(caller, Exit.fail(callerGone), () => Effect.exit(effect))
      )
    /**
     * Runs the task of a call. Several calls of one answer do this at the same time, so their subagents work in parallel.
     * Interrupting the call ends the run, unless it continues in the background. A thousand calls may wait, so the wait
     * keeps nothing of the start, such as the services for it.
     */
    const execute = (input: TaskInput, call: ToolContext) =>
      // Nothing can come between start and wait, so a started run is always awaited.
      Effect.uninterruptibleMask((restore) => Effect.flatten(calling(call, start(input, call, restore))))
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
      execute,
      recover: (input, call) => calling(call, recover(input, call))
    }))
  }))
}
