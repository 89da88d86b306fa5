/** Implements the tools that act on tasks. */
import {
  type CallToolResult,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode
} from "@modelcontextprotocol/server"
import type { ManyServices } from "@skein/core/Skein"
import { Tasks } from "@skein/core/Tasks"
import { outcomeText, statusText } from "@skein/core/TaskText"
import * as Effect from "effect/Effect"
import { cleanLine } from "../cleanText.ts"
import { answerAll, attend, textResult } from "./attend.ts"
import { type Call, gone } from "./Call.ts"
import type { Delegation } from "./Delegation.ts"
import type { Owner } from "./Owner.ts"
import { Refused, refusedBy } from "./Refused.ts"
import { createdResult, wantsTask } from "./taskObjects.ts"
import type { InputOf } from "./tools.ts"

/** The longest title that is made of a prompt, in characters. */
const longestTitle = 50

const noDirectory = new Refused({
  message: "task.directory: name the absolute path of the directory to work in. This connection has none of its own."
})

/** The directory that a call means. */
export const directoryOf = (owner: Owner, directory: string | undefined): Effect.Effect<string, Refused> => {
  const meant = directory ?? owner.directory
  return meant === undefined ? noDirectory : Effect.succeed(meant)
}

const begin = Effect.fnUntraced(function*(owner: Owner, input: InputOf<"task">, call: Call) {
  const { agent, description, prompt, task_id } = input
  return yield* owner.start({
    agent,
    prompt,
    description: cleanLine(description ?? prompt.slice(0, 4 * longestTitle), longestTitle),
    directory: yield* directoryOf(owner, input.directory),
    taskID: task_id,
    client: call.client,
    canAsk: call.canAsk
  })
})

/** A cancelled call ends its run, whatever the call waits for. */
const cancellable = (owner: Owner, call: Call, run: Delegation) => <A, E, R>(waiting: Effect.Effect<A, E, R>) =>
  Effect.onInterrupt(
    Effect.raceFirst(waiting, Effect.zipRight(gone(call), Effect.interrupt)),
    () => owner.cancel(run)
  )

/** A repeated call contains answers, and continues to wait for the run that it began. */
const again = (owner: Owner, call: Call, state: string) =>
  Effect.gen(function*() {
    const run = owner.run(state)
    if (run === undefined) {
      return yield* Effect.die(new ProtocolError(ProtocolErrorCode.InvalidParams, "Invalid or expired requestState"))
    }
    yield* answerAll(run, call.context.mcpReq.inputResponses ?? {})
    return run
  })

/** Delegates a task, and waits for its end where the client does not know tasks. */
export const task = (
  owner: Owner,
  input: InputOf<"task">,
  call: Call,
  asTask: boolean
): Effect.Effect<CallToolResult | InputRequiredResult, Refused, ManyServices> =>
  Effect.gen(function*() {
    const state = call.context.mcpReq.requestState<string>()
    const run = yield* state === undefined ? begin(owner, input, call) : again(owner, call, state)
    if (state === undefined && (asTask || wantsTask(call))) return yield* createdResult(run, call)
    return yield* cancellable(owner, call, run)(attend(run, call))
  })

/** The task of an id among those of this connection. */
const taskOf = Effect.fnUntraced(function*(owner: Owner, taskID: string) {
  const tasks = yield* Tasks
  for (const { info } of owner.roots()) {
    const [status] = yield* Effect.orElseSucceed(tasks.status({ parentID: info.id, taskID }), () => [])
    if (status !== undefined) return { parentID: info.id, status }
  }
  return yield* new Refused({
    message: `Task not found: ${cleanLine(taskID, 64)}. A connection knows only the tasks that it has delegated itself.`
  })
})

/** Says what tasks do. */
export const status = Effect.fnUntraced(function*(owner: Owner, { task_id }: InputOf<"task_status">) {
  const tasks = yield* Tasks
  if (task_id !== undefined) return textResult(statusText((yield* taskOf(owner, task_id)).status))
  const all = yield* Effect.forEach(
    owner.roots(),
    ({ info }) => Effect.mapError(tasks.status({ parentID: info.id }), refusedBy)
  )
  const lines = all.flat().map(statusText)
  return textResult(lines.length === 0 ? "This connection has delegated no task yet." : lines.join("\n\n"))
})

/** Tells a task at work something. An idle one is continued by the tool `task`, which has its result. */
export const message = Effect.fnUntraced(function*(owner: Owner, input: InputOf<"task_message">) {
  const tasks = yield* Tasks
  const { parentID, status: { state, taskID } } = yield* taskOf(owner, input.task_id)
  if (state === "settled") {
    return yield* new Refused({
      message: `Task ${taskID} has ended. Call task with this task_id to continue it: then you get its result.`
    })
  }
  yield* Effect.mapError(tasks.message({ parentID, taskID, byUser: true }, input.message), refusedBy)
  return textResult(`Told ${taskID}, which reads it at its next step.`)
})

/** Stops a task; gives what it came to. */
export const stop = Effect.fnUntraced(function*(owner: Owner, { reason, task_id }: InputOf<"task_stop">) {
  const tasks = yield* Tasks
  const { parentID, status: { taskID } } = yield* taskOf(owner, task_id)
  const by = { by: "the MCP client", ...(reason === undefined ? {} : { reason }) }
  const outcomes = yield* Effect.mapError(tasks.stop({ parentID, taskID }, by), refusedBy)
  const texts = yield* Effect.forEach(outcomes, (outcome) => outcomeText(parentID, outcome))
  return textResult(texts.length === 0 ? `Task ${taskID} had ended before.` : texts.join("\n\n"))
})
