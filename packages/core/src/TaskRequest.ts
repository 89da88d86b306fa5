/** What is asked of tasks, and what is told of them. */
import type { Budget } from "@skein/domain/Budget"
import type { SummaryRow } from "@skein/domain/Event"
import type { PartID, RunID, SessionID } from "@skein/domain/Id"
import type { ModelRef } from "@skein/domain/Model"
import type { Outcome } from "@skein/domain/Outcome"
import type { Ruleset } from "@skein/domain/Rule"
import type { Usage } from "@skein/domain/Usage"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { StorageError } from "./StorageError.ts"

/** What a caller wants done. */
export interface TaskRequest {
  /** The session that asks; the child session is made below it. */
  readonly parentID: SessionID
  /** The subagent's name. */
  readonly agent: string
  /** 3 to 5 words for people. */
  readonly description: string
  /** All that the subagent is told. */
  readonly prompt: string
  /** The task to go on with: a child of the same parent. */
  readonly taskID?: string
  /** The model to use in place of the agent's and the caller's. */
  readonly model?: ModelRef
  /** The model of the caller, for agents that name none. */
  readonly callerModel?: ModelRef
  /** How long the run may take, in milliseconds; the agent's own, or 30 minutes, where absent. Waiting for a person does not count. */
  readonly timeout?: number
  /** Whether the caller is told later: the run goes on by itself, and its outcome comes to the caller's inbox. */
  readonly background?: boolean
  /** Whether the child session is removed once the outcome was read; kept where absent. */
  readonly cleanup?: "keep" | "delete"
  /** Whether the task works apart from its caller; as the agent's definition says where absent. */
  readonly isolation?: "worktree"
  /** What the run may use, with all below it: at most what is left of what its caller may. As the agent's definition says where absent. */
  readonly budget?: Budget
  /** The tool part of the call that asks. */
  readonly partID?: PartID
  /** Rules that a new child session cannot exceed, besides those that hold for it anyway. */
  readonly permission?: Ruleset
  /** A system prompt for a new child session, in the place of its agent's. */
  readonly systemPrompt?: string
  /** The form of the answer: the outcome's text then is its JSON. As the agent's definition says where absent. */
  // oxlint-disable-next-line typescript/no-explicit-any -- what the model sends is unknown until it has been decoded
  readonly output?: Schema.Schema<any, any>
  /** Whether the run may be promoted; not where somebody needs the outcome itself. It may where absent. */
  readonly promotable?: boolean
  /** Whether the user asks, and not a model: then primary agents may be named too. */
  readonly byUser: boolean
}

/** A run that has begun. */
export interface TaskStarted {
  readonly taskID: SessionID
  readonly runID: string
  readonly model: ModelRef | undefined
}

/** What a caller may hear of a run while it lasts. */
export interface TaskProgress {
  readonly started: (run: TaskStarted) => Effect.Effect<void>
  /** The calls so far, sorted by id; at most ten times a second. */
  readonly summary: (rows: ReadonlyArray<SummaryRow>) => Effect.Effect<void>
  /** Told the outcome before the run ends, and so also to a caller who is interrupted and gets no result. */
  readonly settled: (outcome: Outcome) => Effect.Effect<void>
}

/** A run that goes on in the background. */
export interface Accepted {
  readonly status: "accepted"
  readonly taskID: SessionID
  readonly runID: RunID
}

/** Which task is meant, and who says so: only the session that started a task may speak of it. */
export interface TaskName {
  readonly parentID: SessionID
  readonly taskID: string
  /** Whether the user says so, and not a model; a model may not begin runs of what only a user may start. */
  readonly byUser?: boolean
}

/** How a task stands. */
export interface TaskStatus {
  readonly taskID: SessionID
  readonly agent: string
  readonly description: string
  readonly state: "queued" | "running" | "settled"
  readonly background: boolean
  /** What it does or waits for, in a few words; how it ended, where it has. */
  readonly doing: string
  /** Since its newest run was asked for, or how long that took, in milliseconds. */
  readonly elapsedMs: number
  /** The tool that was called last. */
  readonly lastTool: string | undefined
  /** What the task and everything below it used, in all runs. */
  readonly usage: Usage
  /** How its newest run ended. */
  readonly outcome: Outcome | undefined
}

/** Which tasks to wait for, and for how long. */
export interface TaskWait {
  readonly parentID: SessionID
  /** All tasks in the background where absent. */
  readonly taskIDs?: ReadonlyArray<string>
  /** `any`: until one of them has settled; `all` where absent. */
  readonly mode?: "all" | "any"
  /** In milliseconds; 10 minutes where absent. */
  readonly timeout?: number
}

/** What there was when the wait was over. */
export interface TaskWaited {
  readonly settled: ReadonlyArray<Outcome>
  readonly pending: ReadonlyArray<SessionID>
}

/** A run that was started. */
export interface StartedTask {
  /** What a caller is told who does not wait. */
  readonly accepted: Accepted
  /**
   * Waits for the outcome, or until the run is promoted to the background. Interruption ends the run, unless it is in the
   * background by then.
   */
  readonly join: Effect.Effect<Outcome | Accepted, StorageError>
}
