/** Subagents as effects: what a program asks an agent, with a value or a typed error as the result. */
import type { Budget } from "@skein/domain/Budget"
import { SessionID } from "@skein/domain/Id"
import { stepLimitOf } from "@skein/domain/Message"
import type { ModelRef } from "@skein/domain/Model"
import { type Outcome, reason as sentenceOf } from "@skein/domain/Outcome"
import type { Ruleset } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Schema from "effect/Schema"
import { Agent } from "./Agent.ts"
import { currentCall } from "./internal/calls/CallRecord.ts"
import { deepest, isTextNested } from "./Nesting.ts"
import { Projects } from "./Projects.ts"
import { type PromptError, Session, type Turn } from "./Session.ts"
import { type TaskRequest, Tasks } from "./Tasks.ts"

/** What an agent is asked to do, in its own session. */
interface Asked {
  /** Any agent that is not hidden. */
  readonly agent: string
  /** Its whole prompt. */
  readonly prompt: string
  /** The title of its session; by default the first words of the prompt. */
  readonly description?: string
  readonly model?: ModelRef
  /** Rules that neither it nor anything below it can exceed. */
  readonly permission?: Ruleset
  /** What it may use, with everything below it. */
  readonly budget?: Budget
  /** The time limit, in milliseconds. By default a task below a caller has its agent's, or 30 minutes. */
  readonly timeout?: number
}

/** What an agent is asked to do, and where: at the root of its own tree, or below a session. */
export type TaskOptions =
  & Asked
  & (
    | {
      readonly parentID?: never
      /** The working directory; by default that of the process. */
      readonly directory?: string
    }
    | {
      /**
       * The calling session, such as a tool's `context.sessionID`. The task is its child and works in the same place.
       */
      readonly parentID: SessionID
      readonly directory?: never
    }
  )

/** The agent reached no conclusion; `text` is what it said so far. */
export class TaskFailed extends Schema.TaggedError<TaskFailed>()("TaskFailed", {
  agent: Schema.String,
  /** Absent if the task could not start. */
  sessionID: Schema.optional(SessionID),
  status: Schema.Literal("failed", "empty", "stopped", "timed_out", "denied", "budget_exhausted", "lost"),
  /**
   * More detail in a word: why it could not start (`depth`, `limit`, `budget`, `unknown_agent` …), the tag of the error
   * that ended it, which budget was exhausted, or which permission was denied.
   */
  reason: Schema.optional(Schema.String),
  text: Schema.String,
  message: Schema.String
}) {}

/** The length of a title made of a prompt, in characters. */
const longest = 50

const titleOf = ({ description, prompt }: TaskOptions): string =>
  description ?? prompt.trim().replaceAll(/\s+/g, " ").slice(0, longest)

const statusOf = (error: PromptError): TaskFailed["status"] => {
  if (error._tag === "SessionStopped") return "stopped"
  if (error._tag === "BudgetExhausted") return "budget_exhausted"
  return error._tag === "ModelError" && error.reason === "empty_response" ? "empty" : "failed"
}

const reasonOfError = (error: PromptError): string => {
  if (error._tag === "BudgetExhausted") return error.which
  return error._tag === "ModelError" || error._tag === "ModelUnavailable" ? error.reason : error._tag
}

const failure = ({ agent }: TaskOptions, sessionID: SessionID) => (error: PromptError): TaskFailed =>
  new TaskFailed({
    agent,
    sessionID,
    status: statusOf(error),
    reason: reasonOfError(error),
    text: error._tag === "OutputInvalid" ? error.last : error._tag === "BudgetExhausted" ? error.text : "",
    message: error.message
  })

const ends = {
  denied: { status: "denied", message: "was denied a permission that it needs" },
  completed: { status: "empty", message: "ended without any text" }
} as const

const refused = ({ agent }: TaskOptions, reason: string, message: string) =>
  new TaskFailed({ agent, status: "failed", reason, text: "", message })

/** Why a session could not be created, in terms of tasks. */
const refusals = {
  AgentNotFound: "unknown_agent",
  BudgetInvalid: "budget",
  ModeRefused: "project",
  ProjectUnavailable: "project",
  StorageError: "storage"
} as const

const begin = Effect.fnUntraced(function*(options: TaskOptions) {
  const session = yield* Session
  const { agent, budget, directory = ".", model, permission } = options
  const all = yield* Effect.mapError(
    Projects.use(directory, Effect.map(Agent, (agents) => agents.all)),
    ({ _tag, message }) => refused(options, refusals[_tag], message)
  )
  if (all.find(({ name }) => name === agent)?.hidden === true) {
    return yield* refused(options, "unknown_agent", `Unknown agent type: ${agent} is not a valid agent type`)
  }
  return yield* Effect.mapError(
    session.create({
      directory,
      agent,
      title: titleOf(options),
      ...(model === undefined ? {} : { model }),
      ...(permission === undefined ? {} : { permission }),
      ...(budget === undefined ? {} : { budget })
    }),
    ({ _tag, message }) => refused(options, refusals[_tag], message)
  )
})

/** Runs it until it and everything below it have ended; interruption stops all of it. */
const turnOf = Effect.fnUntraced(
  function*(options: TaskOptions, output: AnySchema | undefined) {
    const session = yield* Session
    const { id } = yield* begin(options)
    const turn = Effect.gen(function*() {
      const first = yield* session.prompt(id, options.prompt, output === undefined ? {} : { output })
      const last = yield* session.untilIdle(id)
      // The structured output is in the first answer: later notifications lead to plain text about it.
      return output === undefined ? last ?? first : first
    })
    const { agent, timeout } = options
    const whole = turn.pipe(
      Effect.onInterrupt(() => Effect.exit(session.stop(id))),
      Effect.mapError(failure(options, id))
    )
    return yield* timeout === undefined ? whole : Effect.timeoutFail(whole, {
      duration: timeout,
      onTimeout: () =>
        new TaskFailed({
          agent,
          sessionID: id,
          status: "timed_out",
          reason: "timeout",
          text: "",
          message: `The task ran longer than its timeout of ${timeout} ms.`
        })
    })
  }
)

const conclude = ({ agent }: TaskOptions, turn: Turn): Effect.Effect<string, TaskFailed> => {
  const { end, sessionID, text } = turn
  if (end === "completed" && text !== "") return Effect.succeed(text)
  if (end === "steps") {
    return new TaskFailed({
      agent,
      sessionID,
      status: "budget_exhausted",
      reason: end,
      text,
      message: stepLimitOf(turn.info)
    })
  }
  const { message, status } = ends[end]
  return new TaskFailed({ agent, sessionID, status, text, message: `The agent ${agent} ${message}.` })
}

// oxlint-disable-next-line typescript/no-explicit-any -- what the model sends is unknown until it has been decoded
type AnySchema = Schema.Schema<any, any>

/** Returns the structured output if there is one, else the text. */
const atRoot = (options: TaskOptions, output: AnySchema | undefined) =>
  Effect.flatMap(
    turnOf(options, output),
    (turn) =>
      output === undefined || turn.end !== "completed" ? conclude(options, turn) : Effect.succeed<unknown>(turn.output)
  )

const requestOf = (options: TaskOptions, parentID: SessionID, output: AnySchema | undefined): TaskRequest => {
  const { agent, budget, model, permission, prompt, timeout } = options
  return {
    parentID,
    agent,
    description: titleOf(options),
    prompt,
    byUser: true,
    promotable: false,
    ...(model === undefined ? {} : { model }),
    ...(permission === undefined ? {} : { permission }),
    ...(budget === undefined ? {} : { budget }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(output === undefined ? {} : { output })
  }
}

const reasonOfOutcome = (outcome: Exclude<Outcome, { status: "completed" }>): string | undefined => {
  switch (outcome.status) {
    case "failed":
      return outcome.error.tag
    case "empty":
      return outcome.finish
    case "timed_out":
    case "budget_exhausted":
      return outcome.which
    case "denied":
      return outcome.permission
    default:
      return undefined
  }
}

const ofOutcome = ({ agent }: TaskOptions, outcome: Exclude<Outcome, { status: "completed" }>) => {
  const { status, taskID, text } = outcome
  const why = reasonOfOutcome(outcome)
  return new TaskFailed({
    agent,
    sessionID: taskID,
    status,
    ...(why === undefined ? {} : { reason: why }),
    text,
    message: sentenceOf(outcome)
  })
}

/** Runs it as a child of the calling session, like the tasks of its model. */
const below = Effect.fnUntraced(
  function*(options: TaskOptions, parentID: SessionID, output: AnySchema | undefined) {
    const tasks = yield* Tasks
    const caller = (yield* FiberRef.get(currentCall))?.context
    const request = requestOf(options, parentID, output)
    const outcome = yield* Effect.mapError(
      tasks.run(caller?.sessionID === parentID ? { ...request, callerModel: caller.model } : request),
      (error) => refused(options, error._tag === "TaskRefused" ? error.reason : "storage", error.message)
    )
    if (outcome.status === "accepted") return yield* Effect.dieMessage(`${outcome.taskID} was promoted`)
    if (outcome.status !== "completed") return yield* ofOutcome(options, outcome)
    const { taskID, text } = outcome
    if (output === undefined) return text
    const invalid = ({ message }: { readonly message: string }) =>
      new TaskFailed({
        agent: options.agent,
        sessionID: taskID,
        status: "failed",
        reason: "OutputInvalid",
        text,
        message
      })
    if (isTextNested(text)) return yield* invalid({ message: `The answer is nested more than ${deepest} levels deep.` })
    return yield* Effect.mapError(Schema.decodeUnknown(Schema.parseJson(output))(text), invalid)
  }
)

const valueOf = (
  options: TaskOptions & { readonly output?: AnySchema }
): Effect.Effect<unknown, TaskFailed, Services> =>
  Effect.flatMap(FiberRef.get(currentCall), (call) => {
    const { output, parentID } = options
    const task: Effect.Effect<unknown, TaskFailed, Services> = parentID === undefined
      ? atRoot(options, output)
      : below(options, parentID, output)
    // A tool that waits for agents must hold nothing that they need, or they would wait for it.
    return call === undefined ? task : call.options.call.waiting("others", task)
  })

/** What a task needs; `Skein.layer` has all of it. */
export type Services = Projects | Session | Tasks

/** The result of a task. */
interface Run {
  <A, I>(options: TaskOptions & { readonly output: Schema.Schema<A, I> }): Effect.Effect<A, TaskFailed, Services>
  (options: TaskOptions): Effect.Effect<string, TaskFailed, Services>
}

/**
 * Has an agent do something, and returns its conclusion: as text, or as a value of `output`, which the model gives
 * through a tool and may correct three times. Below a session (`parentID`) it has all that a model's task has: limits,
 * budgets, slots, events, a stored outcome. Else it has its own tree. Interruption ends all of it.
 */
export const run: Run = valueOf as Run
