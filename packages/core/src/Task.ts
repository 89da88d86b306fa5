/** Subagents as effects: what a program asks of an agent, and gets as a value or as a typed error. */
import type { Budget } from "@skein/domain/Budget"
import { SessionID } from "@skein/domain/Id"
import type { ModelRef } from "@skein/domain/Model"
import type { Ruleset } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Agent } from "./Agent.ts"
import { type PromptError, Session, type Turn } from "./Session.ts"

/** What an agent is asked to do, in a session of its own. */
export interface TaskOptions {
  /** Any agent that is not hidden. */
  readonly agent: string
  /** All that it is told. */
  readonly prompt: string
  /** The working directory; that of the process where absent. */
  readonly directory?: string
  /** The title of its session; the first words of the prompt where absent. */
  readonly description?: string
  readonly model?: ModelRef
  /** Rules that neither it nor anything below it can exceed. */
  readonly permission?: Ruleset
  /** What it may use, with everything below it. */
  readonly budget?: Budget
}

/** The agent did not come to a conclusion; `text` is what there was of one. */
export class TaskFailed extends Schema.TaggedError<TaskFailed>()("TaskFailed", {
  agent: Schema.String,
  /** Absent where the task could not even begin. */
  sessionID: Schema.optional(SessionID),
  status: Schema.Literal("failed", "empty", "stopped", "denied", "budget_exhausted"),
  /** The tag of the error that ended it, where one did. */
  reason: Schema.optional(Schema.String),
  text: Schema.String,
  message: Schema.String
}) {}

/** How long a title made of a prompt is, in characters. */
const longest = 50

const titleOf = ({ description, prompt }: TaskOptions): string =>
  description ?? prompt.trim().replaceAll(/\s+/g, " ").slice(0, longest)

const statusOf = (error: PromptError): TaskFailed["status"] => {
  if (error._tag === "SessionStopped") return "stopped"
  if (error._tag === "BudgetExhausted") return "budget_exhausted"
  return error._tag === "ModelError" && error.reason === "empty_response" ? "empty" : "failed"
}

const failure = ({ agent }: TaskOptions, sessionID: SessionID) => (error: PromptError): TaskFailed =>
  new TaskFailed({
    agent,
    sessionID,
    status: statusOf(error),
    reason: error._tag === "ModelError" || error._tag === "ModelUnavailable" ? error.reason : error._tag,
    text: error._tag === "OutputInvalid" ? error.last : error._tag === "BudgetExhausted" ? error.text : "",
    message: error.message
  })

const ends = {
  steps: { status: "budget_exhausted", message: "reached its limit of steps" },
  denied: { status: "denied", message: "was not permitted what it needs" },
  completed: { status: "empty", message: "ended without any text" }
} as const

const begin = Effect.fnUntraced(function*(options: TaskOptions) {
  const agents = yield* Agent
  const session = yield* Session
  const { agent, budget, model, permission } = options
  const refused = (message: string) => new TaskFailed({ agent, status: "failed", text: "", message })
  if (agents.all.find(({ name }) => name === agent)?.hidden === true) {
    return yield* refused(`Unknown agent type: ${agent} is not a valid agent type`)
  }
  return yield* Effect.mapError(
    session.create({
      directory: options.directory ?? ".",
      agent,
      title: titleOf(options),
      ...(model === undefined ? {} : { model }),
      ...(permission === undefined ? {} : { permission }),
      ...(budget === undefined ? {} : { budget })
    }),
    ({ message }) => refused(message)
  )
})

/** Runs it until nothing of it goes on any more; giving up stops all of it. */
const turnOf = Effect.fnUntraced(
  function*(options: TaskOptions, output: AnySchema | undefined) {
    const session = yield* Session
    const { id } = yield* begin(options)
    const turn = Effect.gen(function*() {
      const first = yield* session.prompt(id, options.prompt, output === undefined ? {} : { output })
      const last = yield* session.untilIdle(id)
      // What was asked for in a form is the first answer: news that came later lead to words about it.
      return output === undefined ? last ?? first : first
    })
    return yield* turn.pipe(
      Effect.onInterrupt(() => Effect.exit(session.stop(id))),
      Effect.mapError(failure(options, id))
    )
  }
)

const conclude = (options: TaskOptions, { end, sessionID, text }: Turn): Effect.Effect<string, TaskFailed> => {
  if (end === "completed" && text !== "") return Effect.succeed(text)
  const { message, status } = ends[end]
  const { agent } = options
  return new TaskFailed({ agent, sessionID, status, text, message: `The agent ${agent} ${message}.` })
}

// oxlint-disable-next-line typescript/no-explicit-any -- what the model sends is unknown until it has been decoded
type AnySchema = Schema.Schema<any, any>

/** Gives the answer where one was asked for in a form, else the text. */
const valueOf = (
  options: TaskOptions & { readonly output?: AnySchema }
): Effect.Effect<unknown, TaskFailed, Agent | Session> =>
  Effect.flatMap(
    turnOf(options, options.output),
    (turn) =>
      options.output === undefined || turn.end !== "completed" ? conclude(options, turn) : Effect.succeed(turn.output)
  )

/** What a task gives. */
interface Run {
  <A, I>(options: TaskOptions & { readonly output: Schema.Schema<A, I> }): Effect.Effect<A, TaskFailed, Agent | Session>
  (options: TaskOptions): Effect.Effect<string, TaskFailed, Agent | Session>
}

/**
 * Has an agent do something, in a tree of its own, and gives its conclusion: as text, or as a value of `output`, which the
 * model gives through a tool and may mend three times. Interruption ends the whole tree.
 */
export const run: Run = valueOf as Run
