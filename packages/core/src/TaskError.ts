/** How a task of a program ends without an answer: each outcome has one tag, wherever it happens. */
import { SessionID } from "@skein/domain/Id"
import { FinishReason } from "@skein/domain/Message"
import { type Ending, reason } from "@skein/domain/Outcome"
import { Usage } from "@skein/domain/Usage"
import * as Schema from "effect/Schema"
import type { StorageError } from "./StorageError.ts"
import type { TaskRefused } from "./TaskRequest.ts"
import { BudgetExhausted, InvalidAnswer } from "./Turn.ts"

const base = {
  agent: Schema.String,
  /** The session of the task: everything that it did is there. */
  taskID: SessionID,
  /** What it said until then; empty if nothing. */
  text: Schema.String,
  /** What it used, with everything below it. */
  usage: Usage,
  message: Schema.String
}

/** The model ended without any text. */
export class TaskEmpty extends Schema.TaggedError<TaskEmpty>()("TaskEmpty", { ...base, finish: FinishReason }) {}

/** The task failed; `cause` is the tag and the message of what ended it, such as `auth` of a model. */
export class TaskFailed extends Schema.TaggedError<TaskFailed>()("TaskFailed", {
  ...base,
  cause: Schema.Struct({ tag: Schema.String, message: Schema.String })
}) {}

/** The task was stopped. */
export class TaskStopped extends Schema.TaggedError<TaskStopped>()("TaskStopped", { ...base, by: Schema.String }) {}

/** The task took longer than it may (`timeout`), or showed no sign of life (`idle`). */
export class TaskTimedOut extends Schema.TaggedError<TaskTimedOut>()("TaskTimedOut", {
  ...base,
  which: Schema.Literal("timeout", "idle"),
  /** The limit in milliseconds. */
  after: Schema.Number
}) {}

/** A person rejected what the task asked permission for. */
export class TaskDenied extends Schema.TaggedError<TaskDenied>()("TaskDenied", {
  ...base,
  permission: Schema.String
}) {}

/** The process that ran the task ended, and its work could not be continued. */
export class TaskLost extends Schema.TaggedError<TaskLost>()("TaskLost", base) {}

/** Why a task has no answer. `TaskRefused` comes before the task has a session. */
export type TaskError =
  | BudgetExhausted
  | InvalidAnswer
  | StorageError
  | TaskDenied
  | TaskEmpty
  | TaskFailed
  | TaskLost
  | TaskRefused
  | TaskStopped
  | TaskTimedOut

/** The error of an outcome. */
export const errorOf = (agent: string, outcome: Exclude<Ending, { status: "completed" }>): TaskError => {
  const { taskID, text, usage } = outcome
  const message = reason(outcome)
  const given = { agent, taskID, text, usage, message }
  switch (outcome.status) {
    case "empty":
      return new TaskEmpty({ ...given, finish: outcome.finish })
    case "failed":
      return outcome.error.tag === "InvalidAnswer"
        ? new InvalidAnswer({ message, last: text, taskID, usage })
        : new TaskFailed({ ...given, cause: outcome.error })
    case "stopped":
      return new TaskStopped({ ...given, by: outcome.by })
    case "timed_out":
      return new TaskTimedOut({ ...given, which: outcome.which, after: outcome.after })
    case "budget_exhausted":
      return new BudgetExhausted({ taskID, which: outcome.which, text, usage, message })
    case "denied":
      return new TaskDenied({ ...given, permission: outcome.permission })
    case "lost":
      return new TaskLost(given)
  }
}
