/** Defines how a task can end, and what is stored of each run. */
import * as Schema from "effect/Schema"
import { Budget } from "./Budget.ts"
import { PartID, RunID, SessionID } from "./Id.ts"
import { FinishReason } from "./Message.ts"
import { Ruleset } from "./Rule.ts"
import { Usage } from "./Usage.ts"

/** What an isolated task left in its worktree. */
const Worktree = Schema.Struct({
  branch: Schema.String,
  directory: Schema.String,
  /** Commits since the task began. */
  commits: Schema.Number,
  /** Files with uncommitted changes. */
  uncommitted: Schema.Number,
  diffStat: Schema.String
})

const base = {
  taskID: SessionID,
  runID: RunID,
  /** The conclusion if the task completed, else the partial result; empty if there is none. */
  text: Schema.String,
  /** The usage of the task's session and everything below it, in this run. */
  usage: Usage,
  durationMs: Schema.Number,
  /** Set if the session of the task is deleted once its caller has read this. */
  isDeleted: Schema.optional(Schema.Literal(true)),
  /** The worktree of an isolated task; absent if it changed nothing. */
  worktree: Schema.optional(Worktree)
}

/** The task reached a conclusion. */
export const Completed = Schema.Struct({ ...base, status: Schema.Literal("completed") })
/** The model ended without any text. */
export const Empty = Schema.Struct({ ...base, status: Schema.Literal("empty"), finish: FinishReason })
/** The task failed. */
export const Failed = Schema.Struct({
  ...base,
  status: Schema.Literal("failed"),
  error: Schema.Struct({ tag: Schema.String, message: Schema.String })
})
/** The task was stopped. */
export const Stopped = Schema.Struct({ ...base, status: Schema.Literal("stopped"), by: Schema.String })
/** The task exceeded a time limit. */
export const TimedOut = Schema.Struct({
  ...base,
  status: Schema.Literal("timed_out"),
  /** Which time limit it exceeded, and after how many milliseconds. */
  which: Schema.Literal("timeout", "idle"),
  after: Schema.Number
})
/** The task exhausted its budget. */
export const BudgetExhausted = Schema.Struct({
  ...base,
  status: Schema.Literal("budget_exhausted"),
  which: Schema.Literal("steps", "tokens", "usd", "time", "tasks"),
  /** Says which limit that is, and its amount; absent if a crash hid it. */
  message: Schema.optional(Schema.String)
})
/** A person rejected a request of the task. */
export const Denied = Schema.Struct({ ...base, status: Schema.Literal("denied"), permission: Schema.String })
/** The process that ran the task died, and the work could not be continued; `reason` says why if there is more to say. */
export const Lost = Schema.Struct({
  ...base,
  status: Schema.Literal("lost"),
  reason: Schema.optional(Schema.String)
})

/** The end of one run of a task. */
export const Outcome = Schema.Union(Completed, Empty, Failed, Stopped, TimedOut, BudgetExhausted, Denied, Lost)
/** The type of an outcome. */
export type Outcome = typeof Outcome.Type

type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/** How a task ended, whether its run is stored or not. */
export type Ending = Without<Outcome, "runID" | "durationMs">

/** Says in a sentence why a task did not complete; empty for one that did. */
export const reason = (outcome: Ending): string => {
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
      return outcome.message ?? `The task used up its budget of ${outcome.which}.`
    case "denied":
      return `The user rejected a request of the task for permission ${outcome.permission}.`
    case "lost":
      return outcome.reason ?? "The process that ran the task ended, and its work could not be continued."
  }
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`

/**
 * Says where the work of an isolated task is: only what is committed is on its branch. `elsewhere`: other branches have all
 * of the commits as well.
 */
export const worktreeText = (
  { branch, commits, directory, uncommitted }: Omit<typeof Worktree.Type, "diffStat">,
  elsewhere = false
): string => {
  const files = `${counted(uncommitted, "file")} with changes that are not committed`
  return commits > 0
    ? `The work is on the branch ${branch}, in ${directory}: ${counted(commits, "commit")}${
      elsewhere ? " that other branches have as well" : ""
    }, ${files}.`
    : `The branch ${branch} has no commits of its own. The work is in ${directory}: ${
      uncommitted > 0 ? files : "files that git ignores, or a stash"
    }.`
}

/**
 * What bounded a run when it was requested. It bounds the run until its end, whatever config says later: only denials of
 * `rules` and `shared` count.
 */
export const RunTerms = Schema.Struct({
  /** The ceilings above it, and that of its agent; they bound what it starts as well. */
  ceilings: Schema.Array(Ruleset),
  /** The rules for its own calls. */
  rules: Schema.Array(Ruleset),
  /** The rules for all agents, which bound what it starts after they have changed. */
  shared: Schema.Array(Ruleset)
})
/** The type of such bounds. */
export interface RunTerms extends Schema.Schema.Type<typeof RunTerms> {}

/** One run of a task as it is stored. Times are milliseconds since 1970. */
export const TaskRun = Schema.Struct({
  id: RunID,
  taskID: SessionID,
  parentID: SessionID,
  rootID: SessionID,
  /** The tool part of the call that requested this run, if a call did. */
  partID: Schema.optional(PartID),
  agent: Schema.String,
  description: Schema.String,
  prompt: Schema.String,
  background: Schema.Boolean,
  /** The stops of its caller, and of those above, when it was requested; a later one ends it. */
  stops: Schema.optional(Schema.Number),
  /** The budget of the run, with everything below it. */
  budget: Schema.optional(Budget),
  /** Whether the task's session is deleted once the outcome was read. */
  cleanup: Schema.optional(Schema.Literal("keep", "delete")),
  /** The time limit, in milliseconds. Earlier versions stored only that of a call, and not that of its agent. */
  timeout: Schema.optional(Schema.Number),
  /** What bounds it; absent if nothing was denied when it was requested. */
  terms: Schema.optional(RunTerms),
  /** The ceilings above it, in rows without `terms` of earlier versions. */
  ceilings: Schema.optional(Schema.Array(Ruleset)),
  /** The usage of the task before this run; absent if there was none. */
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

/** A run without its terms, which are long, and which only the process that works on it needs. */
export const withoutTerms = (run: TaskRun): TaskRun => {
  const { ceilings: _, terms: __, ...rest } = run
  return rest
}
