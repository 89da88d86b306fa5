/** Decides how a task can end, and what is stored of each of its runs. */
import * as Schema from "effect/Schema"
import { Budget } from "./Budget.ts"
import { PartID, RunID, SessionID } from "./Id.ts"
import { FinishReason } from "./Message.ts"
import { Ruleset } from "./Rule.ts"
import { Usage } from "./Usage.ts"

const base = {
  taskID: SessionID,
  runID: RunID,
  /** The conclusion where the task completed, else what there was of one; empty where there was nothing. */
  text: Schema.String,
  /** Of the task's session and everything below it, in this run. */
  usage: Usage,
  durationMs: Schema.Number,
  /** What a task left that worked in a worktree of its own; absent where it changed nothing. */
  worktree: Schema.optional(
    Schema.Struct({
      branch: Schema.String,
      directory: Schema.String,
      /** Commits since the task began. */
      commits: Schema.Number,
      /** Files with changes that are not committed. */
      uncommitted: Schema.Number,
      diffStat: Schema.String
    })
  )
}

/** The task reached a conclusion. */
export const Completed = Schema.Struct({ ...base, status: Schema.Literal("completed") })
/** The model ended without any text. */
export const Empty = Schema.Struct({ ...base, status: Schema.Literal("empty"), finish: FinishReason })
/** The task could not go on. */
export const Failed = Schema.Struct({
  ...base,
  status: Schema.Literal("failed"),
  error: Schema.Struct({ tag: Schema.String, message: Schema.String })
})
/** Somebody ended the task. */
export const Stopped = Schema.Struct({ ...base, status: Schema.Literal("stopped"), by: Schema.String })
/** The task ran longer than it may. */
export const TimedOut = Schema.Struct({
  ...base,
  status: Schema.Literal("timed_out"),
  /** Which clock ran out, and after how many milliseconds. */
  which: Schema.Literal("timeout", "idle"),
  after: Schema.Number
})
/** The task used up what it was given. */
export const BudgetExhausted = Schema.Struct({
  ...base,
  status: Schema.Literal("budget_exhausted"),
  which: Schema.Literal("steps", "tokens", "usd", "time", "tasks")
})
/** A person rejected what the task asked for. */
export const Denied = Schema.Struct({ ...base, status: Schema.Literal("denied"), permission: Schema.String })
/** The process that ran the task died, and the work could not be continued. */
export const Lost = Schema.Struct({ ...base, status: Schema.Literal("lost") })

/** The end of one run of a task. */
export const Outcome = Schema.Union(Completed, Empty, Failed, Stopped, TimedOut, BudgetExhausted, Denied, Lost)
/** The type of an outcome. */
export type Outcome = typeof Outcome.Type

/** Says in a sentence why a task did not complete; empty for one that did. */
export const reason = (outcome: Outcome): string => {
  switch (outcome.status) {
    case "completed":
      return ""
    case "empty":
      return `The subagent ended without any text (finish reason: ${outcome.finish}).`
    case "failed":
      return outcome.error.message
    case "stopped":
      return `The task was stopped by ${outcome.by}.`
    case "timed_out":
      return outcome.which === "timeout"
        ? `The task ran longer than its timeout of ${outcome.after} ms.`
        : `The task showed no sign of life for ${outcome.after} ms.`
    case "budget_exhausted":
      return `The task used up its budget of ${outcome.which}.`
    case "denied":
      return `The user rejected a request of the task for permission ${outcome.permission}.`
    case "lost":
      return "The process that ran the task ended, and its work could not be continued."
  }
}

/** One run of a task as it is stored. Times are milliseconds since 1970. */
export const TaskRun = Schema.Struct({
  id: RunID,
  taskID: SessionID,
  parentID: SessionID,
  rootID: SessionID,
  /** The tool part of the call that asked for this run, if a call did. */
  partID: Schema.optional(PartID),
  agent: Schema.String,
  description: Schema.String,
  prompt: Schema.String,
  background: Schema.Boolean,
  /** What the run may use, with all below it. */
  budget: Schema.optional(Budget),
  /** Whether the task's session is removed once the outcome was read. */
  cleanup: Schema.optional(Schema.Literal("keep", "delete")),
  /** How long it may take, in milliseconds; as its agent says where absent. */
  timeout: Schema.optional(Schema.Number),
  /** The ceilings from above as they were when it was asked for; those that forbid nothing are left out. */
  ceilings: Schema.optional(Schema.Array(Ruleset)),
  /** What the task had used before this run; absent where that is nothing. */
  before: Schema.optional(Usage),
  /** Who stopped it, and why. */
  stop: Schema.optional(Schema.Struct({ by: Schema.String, reason: Schema.optional(Schema.String) })),
  state: Schema.Literal("queued", "running", "settled"),
  outcome: Schema.optional(Outcome),
  time: Schema.Struct({
    created: Schema.Number,
    started: Schema.optional(Schema.Number),
    settled: Schema.optional(Schema.Number)
  })
})
/** The type of a stored run. */
export interface TaskRun extends Schema.Schema.Type<typeof TaskRun> {}
