/** Subagents as effects: what a program asks an agent, with a value or an error with a tag as the result. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { Session } from "./Session.ts"
import type { TaskError } from "./TaskError.ts"
import type { AskOptions, ProgramTask } from "./TaskRequest.ts"

export { TaskDenied, TaskEmpty, type TaskError, TaskFailed, TaskLost, TaskStopped, TaskTimedOut } from "./TaskError.ts"
export { type AskOptions, type ProgramTask, TaskRefused } from "./TaskRequest.ts"

/** The answer of a task. */
interface Run {
  <A, I>(task: ProgramTask & { readonly output: Schema.Schema<A, I> }): Effect.Effect<A, TaskError, Session>
  (task: ProgramTask): Effect.Effect<string, TaskError, Session>
}

/**
 * Has an agent do something, and returns its conclusion: as text, or as a value of `output`, which the model gives
 * through a tool and may correct three times. Below a session (`parentID`) it has all that a model's task has: limits,
 * budgets, slots, events, a stored outcome. Else it has its own tree. Interruption ends all of it.
 */
export const run = ((task: ProgramTask) => Effect.flatMap(Session, (session) => session.task(task))) as Run

/** The answer of an agent. */
interface Ask {
  <A, I>(
    agent: string,
    prompt: string,
    options: AskOptions & { readonly output: Schema.Schema<A, I> }
  ): Effect.Effect<A, TaskError, Session>
  (agent: string, prompt: string, options?: AskOptions): Effect.Effect<string, TaskError, Session>
}

/** Asks an agent: `run` with the agent and the prompt first. */
export const ask = ((agent: string, prompt: string, options?: AskOptions) => run({ ...options, agent, prompt })) as Ask
