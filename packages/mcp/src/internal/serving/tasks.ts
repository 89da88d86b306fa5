/** Serves runs as tasks: by tools, and by the methods of both revisions of the protocol. */
import {
  type CallToolResult,
  inputRequired,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type Server
} from "@modelcontextprotocol/server"
import type { ManyServices } from "@skein/core/Skein"
import { Tasks } from "@skein/core/Tasks"
import { outcomeText, statusText } from "@skein/core/TaskText"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { cleanLine } from "../content.ts"
import { tasksExtension } from "../serverTask.ts"
import { answerAll, attend, formOf, resultOf, textResult } from "./attend.ts"
import { type Call, callOf, gone, Refused, refusedBy } from "./Call.ts"
import type { Delegation, Ended } from "./Delegation.ts"
import type { Owner } from "./Owner.ts"
import { type InputOf, type OneTask, tasksIn } from "./tools.ts"

/** How long a task can be asked for, and how often a client should ask, in milliseconds. */
const times = { ttl: 24 * 60 * 60_000, poll: 1_000 }

/** Whether a call is to be answered with a task. */
const wantsTask = (call: Call): boolean => call.knowsTasks

const end = (run: Delegation): Effect.Effect<Ended | undefined> =>
  Effect.flatMap(Deferred.poll(run.ended), Option.getOrElse(() => Effect.succeed(undefined)))

const taskStatus = (run: Delegation, ended: Ended | undefined) => {
  if (ended !== undefined) return ended.how === "settled" ? "completed" : "cancelled"
  return run.asks.size > 0 ? "input_required" : "working"
}

const isoTime = (time: number): string => new Date(time).toISOString()

const baseOf = (run: Delegation, ended: Ended | undefined) => ({
  taskId: run.id as string,
  status: taskStatus(run, ended),
  statusMessage: run.doing(),
  createdAt: isoTime(run.created),
  lastUpdatedAt: isoTime(run.changed())
})

/** A run as clients of 2026-07-28 see it, with what it asks and how it ended. */
const extensionTask = (run: Delegation): Effect.Effect<Record<string, unknown>> =>
  Effect.map(end(run), (ended) => ({
    ...baseOf(run, ended),
    ttlMs: times.ttl,
    pollIntervalMs: times.poll,
    ...(ended === undefined && run.asks.size > 0
      ? {
        inputRequests: Object.fromEntries(
          [...run.asks.values()].map((ask) => [ask.id, inputRequired.elicit(formOf(ask))])
        )
      }
      : {}),
    ...(ended?.how === "settled" ? { result: resultOf(ended) } : {})
  }))

/** A run as clients of 2025-11-25 see it. */
const earlierTask = (run: Delegation): Effect.Effect<Record<string, unknown>> =>
  Effect.map(end(run), (ended) => ({ ...baseOf(run, ended), ttl: times.ttl, pollInterval: times.poll }))

/** The answer to the call that began a run: the task, and in words for clients that take it for a result. */
const createdResult = (run: Delegation, call: Call): Effect.Effect<CallToolResult> =>
  Effect.map(call.isModern ? extensionTask(run) : earlierTask(run), (made): CallToolResult => ({
    ...textResult(`task_id: ${run.taskID}\nThe task works. Its result comes with tasks/get.`),
    ...(call.isModern ? { resultType: "task", ...made } : { task: made })
  }))

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

type Runs = readonly [Delegation, ...ReadonlyArray<Delegation>]

const begin = Effect.fnUntraced(function*(owner: Owner, input: InputOf<"task">, call: Call) {
  const [first, ...others] = yield* tasksIn(input)
  const directory = yield* directoryOf(owner, input.directory)
  const { canAsk, client } = call
  const delegated = ({ agent, description, prompt, task_id }: OneTask) => ({
    agent,
    prompt,
    description: cleanLine(description ?? prompt.slice(0, 4 * longestTitle), longestTitle),
    directory,
    taskID: task_id,
    client,
    canAsk
  })
  return yield* owner.start([delegated(first), ...others.map(delegated)])
})

/** A cancelled call ends its runs, whatever the call waits for. */
const cancellable = (owner: Owner, call: Call, runs: Runs) => <A, E, R>(waiting: Effect.Effect<A, E, R>) =>
  Effect.onInterrupt(
    Effect.raceFirst(waiting, Effect.zipRight(gone(call), Effect.interrupt)),
    () => Effect.forEach(runs, owner.cancel, { concurrency: "unbounded", discard: true })
  )

/** A repeated call contains answers, and continues to wait for the runs that the first one named. */
const again = (owner: Owner, call: Call, state: string) =>
  Effect.gen(function*() {
    const [first, ...others] = state.split(" ").flatMap((id) => owner.run(id) ?? [])
    if (first === undefined) {
      return yield* Effect.die(new ProtocolError(ProtocolErrorCode.InvalidParams, "Invalid or expired requestState"))
    }
    const runs: Runs = [first, ...others]
    yield* answerAll(runs, call.context.mcpReq.inputResponses ?? {})
    return runs
  })

/** Delegates tasks, and waits for their end where the client does not know tasks, and the call is not in the background. */
export const delegateTask = (
  owner: Owner,
  input: InputOf<"task">,
  call: Call,
  asTask: boolean
): Effect.Effect<CallToolResult | InputRequiredResult, Refused, ManyServices> =>
  Effect.gen(function*() {
    const state = call.context.mcpReq.requestState<string>()
    if (state === undefined && asTask && input.tasks !== undefined) return yield* oneEach
    const runs = yield* state === undefined ? begin(owner, input, call) : again(owner, call, state)
    if (state === undefined) {
      if (input.tasks === undefined && (asTask || wantsTask(call))) return yield* createdResult(runs[0], call)
      if (input.background === true) {
        for (const run of runs) owner.unread.add(run)
        return textResult(runs.map(startedText).join("\n"))
      }
    }
    return yield* cancellable(owner, call, runs)(attend(runs, call))
  })

const oneEach = new Refused({
  message: "task.tasks: an MCP task stands for one task. Call task once for each, or without asking for an MCP task."
})

const startedText = ({ taskID }: Delegation): string =>
  `task_id: ${taskID}\nThe task works in the background. Get its result with task_status and wait.`

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

/** What a task does, and its result once it has ended. */
const statusOf = Effect.fnUntraced(function*(owner: Owner, taskID: string) {
  const { parentID, status: found } = yield* taskOf(owner, taskID)
  const { outcome } = found
  const result = outcome === undefined ? [] : [yield* outcomeText(parentID, outcome)]
  return textResult([statusText(found), ...result].join("\n\n"))
})

/** Says what tasks do, or waits for their end. */
export const taskStatuses = Effect.fnUntraced(
  function*(owner: Owner, { task_id, wait }: InputOf<"task_status">, call: Call) {
    const tasks = yield* Tasks
    const state = call.context.mcpReq.requestState<string>()
    if (wait === true) {
      // Of a task that was continued, the newest run counts.
      const meant = task_id === undefined
        ? [...owner.unread]
        : owner.runs().filter((run) => run.taskID === task_id).slice(-1)
      const [first, ...others] = state === undefined ? meant : yield* again(owner, call, state)
      if (first !== undefined) {
        const runs: Runs = [first, ...others]
        const result = yield* Effect.raceFirst(attend(runs, call), Effect.zipRight(gone(call), Effect.interrupt))
        if (!("inputRequests" in result)) { for (const run of runs) owner.unread.delete(run) }
        return result
      }
    }
    if (task_id !== undefined) return yield* statusOf(owner, task_id)
    const all = yield* Effect.forEach(
      owner.roots(),
      ({ info }) => Effect.mapError(tasks.status({ parentID: info.id }), refusedBy)
    )
    const lines = all.flat().map(statusText)
    return textResult(lines.length === 0 ? "This connection has delegated no task yet." : lines.join("\n\n"))
  }
)

/** Tells a task at work something. An idle one is continued by the tool `task`, which has its result. */
export const sendMessage = Effect.fnUntraced(function*(owner: Owner, input: InputOf<"task_message">) {
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
export const stopTask = Effect.fnUntraced(function*(owner: Owner, { reason, task_id }: InputOf<"task_stop">) {
  const tasks = yield* Tasks
  const { parentID, status: { taskID } } = yield* taskOf(owner, task_id)
  const by = { by: "the MCP client", ...(reason === undefined ? {} : { reason }) }
  const outcomes = yield* Effect.mapError(tasks.stop({ parentID, taskID }, by), refusedBy)
  const texts = yield* Effect.forEach(outcomes, (outcome) => outcomeText(parentID, outcome))
  return textResult(texts.length === 0 ? `Task ${taskID} had ended before.` : texts.join("\n\n"))
})

/** Runs an effect for a request. */
export type Run = <A, E>(effect: Effect.Effect<A, E, ManyServices>) => Promise<A>

const named = { params: Schema.standardSchemaV1(Schema.Struct({ taskId: Schema.String })) }

const updated = {
  params: Schema.standardSchemaV1(Schema.Struct({
    taskId: Schema.String,
    // The SDK has taken them out by then, and gives them with the context.
    inputResponses: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
  }))
}

const nothing = { params: Schema.standardSchemaV1(Schema.Struct({})) }

const protocolError = (code: number, message: string, data?: unknown) =>
  Effect.die(new ProtocolError(code, message, data))

/** The code for a capability that the client did not declare. */
const missingCapability = -32_021

const checkKnows = (call: Call): Effect.Effect<void> =>
  !call.isModern || call.knowsTasks
    ? Effect.void
    : protocolError(missingCapability, "Missing required client capability", {
      requiredCapabilities: { extensions: { [tasksExtension]: {} } }
    })

const runOf = (owner: Owner, call: Call, id: string): Effect.Effect<Delegation> =>
  Effect.zipRight(
    checkKnows(call),
    Effect.suspend(() => {
      const run = owner.run(id)
      return run === undefined
        ? protocolError(ProtocolErrorCode.InvalidParams, `Task not found: ${cleanLine(id, 64)}`)
        : Effect.succeed(run)
    })
  )

/** A request about a run attends to it. */
const seen = <A>(run: Delegation, effect: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.scoped(Effect.zipRight(run.attend, effect))

/** Registers the methods of tasks. */
export const registerTaskMethods = (server: Server, owner: Owner, run: Run): void => {
  server.setRequestHandler("tasks/get", named, ({ taskId }, context) => {
    const call = callOf(server, context)
    const found = Effect.flatMap(
      runOf(owner, call, taskId),
      (task) => seen(task, call.isModern ? extensionTask(task) : earlierTask(task))
    )
    return run(found)
  })
  server.setRequestHandler("tasks/cancel", named, ({ taskId }, context) => {
    const call = callOf(server, context)
    const cancelled = Effect.flatMap(
      runOf(owner, call, taskId),
      (task) => Effect.zipRight(owner.cancel(task), call.isModern ? Effect.succeed({}) : earlierTask(task))
    )
    return run(cancelled)
  })
  server.setRequestHandler("tasks/update", updated, ({ inputResponses, taskId }, context) => {
    const call = callOf(server, context)
    const responses = { ...inputResponses, ...context.mcpReq.inputResponses }
    const answered = Effect.flatMap(runOf(owner, call, taskId), (task) => Effect.as(answerAll([task], responses), {}))
    return run(answered)
  })
  server.setRequestHandler("tasks/result", named, ({ taskId }, context) => {
    const call = callOf(server, context)
    if (call.isModern) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, "Method not found")
    return run(Effect.flatMap(runOf(owner, call, taskId), (task) => attend([task], call)))
  })
  server.setRequestHandler("tasks/list", nothing, (_, context) => {
    if (callOf(server, context).isModern) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, "Method not found")
    return run(Effect.map(Effect.forEach(owner.runs(), earlierTask), (tasks) => ({ tasks })))
  })
}
