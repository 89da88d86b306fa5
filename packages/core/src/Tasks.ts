/** Owns the tasks: runs subagents in child sessions, each run to one outcome. */
import type { PartID, SessionID } from "@skein/domain/Id"
import type { Outcome, TaskRun } from "@skein/domain/Outcome"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SessionTable } from "./internal/live/SessionTable.ts"
import { SessionRunner } from "./internal/runner/SessionRunner.ts"
import { makeTasks } from "./internal/tasks/makeTasks.ts"
import { Recovery } from "./internal/tasks/Recovery.ts"
import { TaskQueue } from "./internal/tasks/TaskQueue.ts"
import type { StorageError } from "./StorageError.ts"
import type {
  Accepted,
  MessageOptions,
  StartedTask,
  TaskName,
  TaskProgress,
  TaskRefused,
  TaskRequest,
  TaskStatus,
  TaskWait,
  TaskWaited
} from "./TaskRequest.ts"

export type {
  Accepted,
  MessageOptions,
  StartedTask,
  TaskName,
  TaskProgress,
  TaskRequest,
  TaskStarted,
  TaskStatus,
  TaskWait,
  TaskWaited
} from "./TaskRequest.ts"

/** The tasks. */
export class Tasks extends Context.Tag("@skein/core/Tasks")<Tasks, {
  /** Checks a request before anything is done. */
  readonly check: (request: Omit<TaskRequest, "partID" | "timeout">) => Effect.Effect<void, TaskRefused | StorageError>
  /**
   * Forks a subagent: checks the request, creates the child session or resumes that of `taskID`, stores the run, and queues
   * it for a slot. With its slot, its fiber is forked in the scope of the calling session. Join it without an interruptible
   * gap.
   */
  readonly fork: (
    request: TaskRequest,
    progress?: TaskProgress
  ) => Effect.Effect<StartedTask, TaskRefused | StorageError>
  /**
   * Runs a subagent to its outcome; interrupting the caller stops everything below. In the background, or once
   * promoted, it returns at once, and the outcome arrives in the calling session's inbox. Runs of one task follow each
   * other in the order of their requests.
   */
  readonly run: (
    request: TaskRequest,
    progress?: TaskProgress
  ) => Effect.Effect<Outcome | Accepted, TaskRefused | StorageError>
  /** The run that a call has requested; undefined if it did not get that far. */
  readonly ofCall: (parentID: SessionID, partID: PartID) => Effect.Effect<TaskRun | undefined, StorageError>
  /** Continues a run that a process which has ended had forked. Join it without an interruptible gap. */
  readonly reattach: (
    run: TaskRun,
    progress: TaskProgress
  ) => Effect.Effect<StartedTask, TaskRefused | StorageError>
  /** Moves a run to the background while a call waits for it; the call then ends as accepted. */
  readonly promote: (task: TaskName) => Effect.Effect<Accepted, TaskRefused | StorageError>
  /** The status of a session's tasks, or of one of them. */
  readonly status: (
    of: { readonly parentID: SessionID; readonly taskID?: string }
  ) => Effect.Effect<ReadonlyArray<TaskStatus>, TaskRefused | StorageError>
  /**
   * Sends a message to a task: a running task reads it at its next step, else it starts a background run. No message is
   * lost if the two cross.
   */
  readonly message: (
    task: TaskName,
    message: string,
    options?: MessageOptions
  ) => Effect.Effect<"steered" | Accepted, TaskRefused | StorageError>
  /** Ends the runs of a task: its work is interrupted, it may conclude in one step, and its partial work comes back. */
  readonly stop: (
    task: TaskName,
    by: { readonly by: string; readonly reason?: string }
  ) => Effect.Effect<ReadonlyArray<Outcome>, TaskRefused | StorageError>
  /** Waits until tasks have settled, or until the timeout. Other receivers still get the outcomes. */
  readonly wait: (wait: TaskWait) => Effect.Effect<TaskWaited, TaskRefused | StorageError>
}>() {
  /** Tasks whose subagents run in this process. */
  static readonly layer = Layer.scoped(Tasks, makeTasks).pipe(
    Layer.provideMerge(Recovery.layer),
    Layer.provide(TaskQueue.layer),
    Layer.provideMerge(SessionRunner.layer),
    Layer.provideMerge(SessionTable.layer)
  )
}
