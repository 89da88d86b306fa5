/** The tools with which a model follows, steers, stops and awaits the tasks that it started. */
import type { SessionID } from "@skein/domain/Id"
import { millisecondsUpTo } from "@skein/domain/Milliseconds"
import type { Outcome } from "@skein/domain/Outcome"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Config } from "./Config.ts"
import { SessionTable } from "./internal/live/SessionTable.ts"
import * as prompts from "./internal/prompts.ts"
import { acceptedText, outcomeText, statusText } from "./internal/tasks/taskTexts.ts"
import type { Spill } from "./Spill.ts"
import { Tasks, type TaskStatus } from "./Tasks.ts"
import { taskError } from "./TaskTool.ts"
import { type AnyTool, define, type PermissionAsk, SharedTools, type ToolCaller } from "./Tool.ts"

const about = (description: string) => ({ description })
const TaskID = Schema.NonEmptyTrimmedString.annotations(about("The task_id of a task that you have started"))

const StatusInput = Schema.Struct({
  task_id: Schema.optional(TaskID.annotations(about("One task; all of yours if left out")))
})
const MessageInput = Schema.Struct({
  task_id: TaskID,
  message: Schema.String.annotations(about("The message to the subagent, which sees nothing else of your conversation"))
})
const StopInput = Schema.Struct({
  task_id: TaskID,
  reason: Schema.optional(Schema.String.annotations(about("Why, in a few words that the subagent reads")))
})
const WaitInput = Schema.Struct({
  task_ids: Schema.optional(
    Schema.Array(TaskID).annotations(about("Which tasks; all that run in the background if left out"))
  ),
  mode: Schema.optional(
    Schema.Literal("all", "any").annotations(about("any: until one of them has finished; all if left out"))
  ),
  timeout: Schema.optional(
    millisecondsUpTo(3_600_000, "an hour").annotations(
      about("How long to wait, in milliseconds or as \"5m\"; 10 minutes if left out, at most an hour")
    )
  )
})

/** A caller may only steer an agent that it could start. */
const askFor = (statuses: ReadonlyArray<TaskStatus>, what: string): ReadonlyArray<PermissionAsk> => {
  const agents = [...new Set(statuses.map(({ agent }) => agent))]
  return agents.length === 0
    ? []
    : [{ permission: "task", patterns: agents, always: ["*"], metadata: { description: what } }]
}

const counted = (count: number) => `${count} ${count === 1 ? "task" : "tasks"}`

type Supervisor = Context.Tag.Service<typeof Tasks>
type Write = (reader: SessionID, outcomes: ReadonlyArray<Outcome>) => Effect.Effect<string>

const statusesOf = (tasks: Supervisor, parentID: SessionID, taskIDs: ReadonlyArray<string>) =>
  Effect.map(
    Effect.forEach(taskIDs, (taskID) => Effect.mapError(tasks.status({ parentID, taskID }), taskError)),
    (found) => found.flat()
  )

const makeStatus = (tasks: Supervisor, describe: AnyTool["describe"]) =>
  define<typeof StatusInput.Type>({
    name: "task_status",
    permission: "task",
    describe,
    parameters: StatusInput,
    effect: "safe",
    title: ({ task_id }) => task_id ?? "all tasks",
    authorise: () => Effect.succeed([]),
    execute: Effect.fnUntraced(function*({ task_id }, { sessionID }) {
      const found = yield* task_id === undefined
        ? Effect.mapError(tasks.status({ parentID: sessionID }), taskError)
        : statusesOf(tasks, sessionID, [task_id])
      const output = found.length === 0 ? "You have started no tasks." : found.map(statusText).join("\n\n")
      return { title: counted(found.length), output, metadata: { tasks: found } }
    })
  })

const makeMessage = (tasks: Supervisor, describe: AnyTool["describe"]) =>
  define<typeof MessageInput.Type>({
    name: "task_message",
    permission: "task",
    describe,
    parameters: MessageInput,
    effect: "never",
    title: ({ task_id }) => task_id,
    authorise: ({ message, task_id }, { sessionID }) =>
      Effect.map(statusesOf(tasks, sessionID, [task_id]), (found) => askFor(found, message)),
    execute: Effect.fnUntraced(function*({ message, task_id }, { byUser, sessionID }) {
      const [status] = yield* statusesOf(tasks, sessionID, [task_id])
      const end = yield* Effect.mapError(
        tasks.message({ parentID: sessionID, taskID: task_id, byUser }, message),
        taskError
      )
      const output = end === "steered"
        ? `The task ${task_id} is at work, and reads the message at its next step.`
        : acceptedText({ agent: status?.agent ?? "", description: status?.description ?? "", taskID: end.taskID })
      return { title: task_id, output, metadata: end === "steered" ? { status: "steered" } : { ...end } }
    })
  })

const makeStop = (tasks: Supervisor, describe: AnyTool["describe"], write: Write) =>
  define<typeof StopInput.Type>({
    name: "task_stop",
    permission: "task",
    describe,
    parameters: StopInput,
    effect: "never",
    waits: true,
    title: ({ task_id }) => task_id,
    authorise: ({ reason, task_id }, { sessionID }) =>
      Effect.map(statusesOf(tasks, sessionID, [task_id]), (found) => askFor(found, reason ?? "stop")),
    execute: Effect.fnUntraced(function*({ reason, task_id }, { sessionID, tells }) {
      const by = { by: "its caller", ...(reason === undefined ? {} : { reason }) }
      const outcomes = yield* Effect.mapError(tasks.stop({ parentID: sessionID, taskID: task_id }, by), taskError)
      if (outcomes.length === 0) {
        const found = yield* statusesOf(tasks, sessionID, [task_id])
        return {
          title: task_id,
          output: `The task was not running.\n\n${found.map(statusText).join("\n\n")}`,
          metadata: {}
        }
      }
      const output = yield* write(sessionID, outcomes)
      yield* tells(outcomes.map(({ runID }) => runID))
      return { title: task_id, output, metadata: { outcomes } }
    })
  })

const makeWait = (tasks: Supervisor, describe: AnyTool["describe"], write: Write) =>
  define<typeof WaitInput.Type>({
    name: "task_wait",
    permission: "task",
    describe,
    parameters: WaitInput,
    effect: "safe",
    waits: true,
    title: ({ task_ids }) => task_ids === undefined ? "all tasks" : counted(task_ids.length),
    authorise: () => Effect.succeed([]),
    execute: Effect.fnUntraced(function*({ mode, task_ids, timeout }, { sessionID, tells }) {
      const { pending, settled } = yield* Effect.mapError(
        tasks.wait({
          parentID: sessionID,
          ...(task_ids === undefined ? {} : { taskIDs: task_ids }),
          ...(mode === undefined ? {} : { mode }),
          ...(timeout === undefined ? {} : { timeout })
        }),
        taskError
      )
      const text = yield* write(sessionID, settled)
      yield* tells(settled.map(({ runID }) => runID))
      const rest = pending.length === 0
        ? ""
        : `Still running: ${pending.join(", ")}. You will be notified when they have finished.`
      const output = [text, rest].filter((part) => part !== "").join("\n\n")
      return {
        title: `${settled.length} of ${settled.length + pending.length} finished`,
        output: output === "" ? "No task runs in the background." : output,
        metadata: { settled, pending }
      }
    })
  })

/** Adds the tools to the registry. */
export const layer = Layer.scopedDiscard(Effect.gen(function*() {
  const tools = yield* SharedTools
  const tasks = yield* Tasks
  const spill = yield* Effect.context<Spill>()
  const table = yield* SessionTable
  // A caller that can start no task has none to control.
  const forCallers = (text: string) => ({ depth, sessionID }: ToolCaller) => {
    const live = table.peek(sessionID)
    if (live === undefined) return Effect.succeed(undefined)
    return table.inProject(
      live,
      Effect.map(Config, ({ settings: { limits } }) => depth < limits.subagent_depth ? text : undefined)
    )
  }
  const write: Write = (reader, outcomes) =>
    Effect.forEach(outcomes, (outcome) => outcomeText(reader, outcome)).pipe(
      Effect.map((texts) => texts.join("\n\n")),
      Effect.provide(spill)
    )
  yield* tools.register(makeStatus(tasks, forCallers(prompts.taskStatus)))
  yield* tools.register(makeMessage(tasks, forCallers(prompts.taskMessage)))
  yield* tools.register(makeStop(tasks, forCallers(prompts.taskStop), write))
  yield* tools.register(makeWait(tasks, forCallers(prompts.taskWait), write))
}))
