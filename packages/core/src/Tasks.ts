/** Owns the tasks: runs subagents in child sessions, each run to one outcome. */
import type { PartID, SessionID } from "@skein/domain/Id"
import type { ModelRef } from "@skein/domain/Model"
import type { Outcome } from "@skein/domain/Outcome"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { makeTasks } from "./internal/tasks/makeTasks.ts"
import type { StorageError } from "./StorageError.ts"
import type { TaskRefused } from "./TaskError.ts"

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
  /** The tool part of the call that asks. */
  readonly partID?: PartID
  /** Whether the user asks, and not a model: then primary agents may be named too. */
  readonly byUser: boolean
}

/** One tool call of a subagent, for those who watch it. */
export interface SummaryRow {
  readonly id: PartID
  readonly tool: string
  readonly state: { readonly status: "running" | "completed" | "error"; readonly title?: string }
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

/** The tasks. */
export class Tasks extends Context.Tag("@skein/core/Tasks")<Tasks, {
  /** Finds what is wrong with a request before anything is done. */
  readonly check: (request: Omit<TaskRequest, "partID" | "timeout">) => Effect.Effect<void, TaskRefused | StorageError>
  /**
   * Runs a subagent to its outcome; the run is a fiber of the caller, and interrupting it stops everything below. Runs of
   * one task follow each other in the order in which they were asked for.
   */
  readonly run: (request: TaskRequest, progress?: TaskProgress) => Effect.Effect<Outcome, TaskRefused | StorageError>
}>() {
  /** Tasks whose subagents run in this process. */
  static readonly layer = Layer.effect(Tasks, makeTasks)
}
