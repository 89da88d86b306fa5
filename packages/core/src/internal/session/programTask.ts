/** A task of a program: at the root of a tree of its own, or below a session like the tasks of its model. */
import type { SessionID } from "@skein/domain/Id"
import { type ModelRef, parseRef } from "@skein/domain/Model"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import * as Schema from "effect/Schema"
import { Agent } from "../../Agent.ts"
import { deepest, isTextNested } from "../../Nesting.ts"
import { Projects } from "../../Projects.ts"
import { StorageError } from "../../StorageError.ts"
import { errorOf, type TaskError } from "../../TaskError.ts"
import { type AnySchema, type ProgramTask, TaskRefused, type TaskRequest } from "../../TaskRequest.ts"
import { Tasks } from "../../Tasks.ts"
import { InvalidAnswer, type PromptError, type PromptOptions, type Turn } from "../../Turn.ts"
import { currentCall } from "../calls/CallRecord.ts"
import { conclusion } from "../conversation/makePrompt.ts"
import { saidFrom } from "../conversation/saidNow.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { type End, endOf, endOfTurn } from "../tasks/settleRun.ts"
import { createSession } from "./createSession.ts"

/** What this file needs of the service that it is a part of. */
interface Sessions {
  readonly prompt: (id: SessionID, prompt: string, options: PromptOptions) => Effect.Effect<Turn, PromptError>
  readonly untilIdle: (id: SessionID) => Effect.Effect<Turn | undefined, PromptError>
  readonly stop: (id: SessionID) => Effect.Effect<void, unknown>
}

/** The length of a title made of a prompt, in characters. */
const longest = 50

const titleOf = ({ description, prompt }: ProgramTask): string =>
  description ?? prompt.trim().replaceAll(/\s+/g, " ").slice(0, longest)

const modelOf = ({ model }: ProgramTask): Effect.Effect<ModelRef | undefined, TaskRefused> => {
  if (typeof model !== "string") return Effect.succeed(model)
  const ref = parseRef(model)
  return ref === undefined
    ? new TaskRefused({ reason: "bad_model", message: `The model "${model}" is not a name such as openai/gpt-5.` })
    : Effect.succeed(ref)
}

/** Why a session could not be created, in terms of tasks. */
const refusals = {
  AgentNotFound: "unknown_agent",
  BudgetInvalid: "budget",
  ModeRefused: "project",
  ProjectUnavailable: "project"
} as const

const refused = (error: StorageError | { readonly _tag: keyof typeof refusals; readonly message: string }) =>
  error instanceof StorageError ? error : new TaskRefused({ reason: refusals[error._tag], message: error.message })

const begin = Effect.fnUntraced(function*(task: ProgramTask) {
  const { agent, budget, directory = ".", permission } = task
  const model = yield* modelOf(task)
  const all = yield* Effect.mapError(Projects.use(directory, Effect.map(Agent, (agents) => agents.all)), refused)
  if (all.find(({ name }) => name === agent)?.hidden === true) {
    return yield* new TaskRefused({
      reason: "unknown_agent",
      message: `Unknown agent type: ${agent} is not a valid agent type`
    })
  }
  return yield* Effect.mapError(
    createSession({
      directory,
      agent,
      title: titleOf(task),
      ...(model === undefined ? {} : { model }),
      ...(permission === undefined ? {} : { permission }),
      ...(budget === undefined ? {} : { budget })
    }),
    refused
  )
})

/** What the session of a task has said and used. */
const factsOf = Effect.fnUntraced(function*(taskID: SessionID) {
  const table = yield* SessionTable
  const live = yield* table.open(taskID)
  yield* table.history(live)
  return { text: saidFrom(live.messages ?? [], 0, conclusion), usage: live.info.usage.subtree }
})

const errorOfRoot = Effect.fnUntraced(
  function*(task: ProgramTask, taskID: SessionID, end: Exclude<End, { status: "completed" }>) {
    const facts = yield* factsOf(taskID)
    return yield* errorOf(task.agent, {
      ...end,
      taskID,
      usage: facts.usage,
      text: ("text" in end && end.text) || facts.text
    })
  },
  // The session was removed, which ended the task.
  Effect.catchTag(
    "SessionNotFound",
    ({ id, message }) =>
      new StorageError({ operation: "read", reason: "gone", message: `${message} It was the task ${id}.` })
  )
)

/** Runs it until it and everything below it have ended; interruption stops all of it. */
const atRoot = Effect.fnUntraced(function*(task: ProgramTask, sessions: Sessions) {
  const { output, timeout } = task
  const { id } = yield* begin(task)
  const whole = Effect.gen(function*() {
    const first = yield* sessions.prompt(id, task.prompt, output === undefined ? {} : { output })
    const last = yield* sessions.untilIdle(id)
    // The structured output is in the first answer: later notifications lead to plain text about it.
    return output === undefined ? last ?? first : first
  }).pipe(Effect.onInterrupt(() => Effect.exit(sessions.stop(id))), Effect.either)
  const limit = timeout === undefined ? undefined : Duration.decode(timeout)
  const ended = yield* limit === undefined ? whole : Effect.timeoutTo(whole, {
    duration: limit,
    onSuccess: (either) => either,
    onTimeout: () => undefined
  })
  if (ended === undefined) {
    const after = limit === undefined ? 0 : Duration.toMillis(limit)
    return yield* errorOfRoot(task, id, { status: "timed_out", which: "timeout", after })
  }
  if (ended._tag === "Left") {
    if (ended.left._tag === "StorageError") return yield* ended.left
    const end = endOf(Exit.fail(ended.left))
    return end.status === "completed" ? "" : yield* errorOfRoot(task, id, end)
  }
  const turn = ended.right
  const end = endOfTurn(turn)
  if (output !== undefined && turn.end === "completed") return turn.output
  return end.status === "completed" ? turn.text : yield* errorOfRoot(task, id, end)
})

const requestOf = (task: ProgramTask, parentID: SessionID, model: ModelRef | undefined): TaskRequest => {
  const { agent, budget, output, permission, prompt, timeout } = task
  return {
    parentID,
    agent,
    description: titleOf(task),
    prompt,
    byUser: true,
    promotable: false,
    byProgram: true,
    ...(model === undefined ? {} : { model }),
    ...(permission === undefined ? {} : { permission }),
    ...(budget === undefined ? {} : { budget }),
    ...(timeout === undefined ? {} : { timeout: Duration.toMillis(timeout) }),
    ...(output === undefined ? {} : { output })
  }
}

const decode = (output: AnySchema, text: string, taskID: SessionID) => {
  const invalid = (message: string) => new InvalidAnswer({ message, last: text, taskID })
  return isTextNested(text)
    ? invalid(`The answer is nested more than ${deepest} levels deep.`)
    : Effect.mapError(Schema.decodeUnknown(Schema.parseJson(output))(text), ({ message }) => invalid(message))
}

/** Runs it as a child of the calling session. */
const below = Effect.fnUntraced(function*(task: ProgramTask, parentID: SessionID) {
  const tasks = yield* Tasks
  const caller = (yield* FiberRef.get(currentCall))?.context
  const request = requestOf(task, parentID, yield* modelOf(task))
  const outcome = yield* tasks.run(
    caller?.sessionID === parentID ? { ...request, callerModel: caller.model } : request
  )
  if (outcome.status === "accepted") return yield* Effect.dieMessage(`${outcome.taskID} was promoted`)
  if (outcome.status !== "completed") return yield* errorOf(task.agent, outcome)
  return task.output === undefined ? outcome.text : yield* decode(task.output, outcome.text, outcome.taskID)
})

/** The answer of a task: its text, or a value of `output`. */
export const programTask = (task: ProgramTask, sessions: Sessions) =>
  Effect.flatMap(FiberRef.get(currentCall), (call) => {
    const { parentID } = task
    const answer: Effect.Effect<unknown, TaskError, Effect.Effect.Context<ReturnType<typeof atRoot>> | Tasks> =
      parentID === undefined ? atRoot(task, sessions) : below(task, parentID)
    // A tool that waits for agents must hold nothing that they need, or they would wait for it.
    return call === undefined ? answer : call.options.call.waiting("others", answer)
  })
