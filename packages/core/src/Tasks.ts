/** Owns the tasks: runs subagents in child sessions, each run to one outcome. */

import type { PartID, SessionID } from "@skein/domain/Id"
import type { Outcome } from "@skein/domain/Outcome"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SessionTable } from "./internal/live/SessionTable.ts"
import { SessionRunner } from "./internal/runner/SessionRunner.ts"
import { Alarms } from "./internal/tasks/Alarms.ts"
import { makeTasks } from "./internal/tasks/makeTasks.ts"
import { Recovery } from "./internal/tasks/Recovery.ts"
import type { StorageError } from "./StorageError.ts"
import type { TaskRefused } from "./TaskError.ts"
import type {
  Accepted,
  StartedTask,
  TaskName,
  TaskProgress,
  TaskRequest,
  TaskStatus,
  TaskWait,
  TaskWaited
} from "./TaskRequest.ts"

export type {
  Accepted,
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
  /** Finds what is wrong with a request before anything is done. */
  readonly check: (request: Omit<TaskRequest, "partID" | "timeout">) => Effect.Effect<void, TaskRefused | StorageError>
  /**
   * Starts a subagent: checks what is asked for, stores the run, and puts it in line for a slot, where its fiber is forked in
   * the scope of the calling session. Join it without an interruptible gap.
   */
  readonly start: (
    request: TaskRequest,
    progress?: TaskProgress
  ) => Effect.Effect<StartedTask, TaskRefused | StorageError>
  /**
   * Runs a subagent to its outcome; interrupting the caller stops everything below. In the background, or where it is
   * promoted, it ends at once, and the run is a matter of the calling session: its outcome comes to that session's inbox.
   * Runs of one task follow each other in the order in which they were asked for.
   */
  readonly run: (
    request: TaskRequest,
    progress?: TaskProgress
  ) => Effect.Effect<Outcome | Accepted, TaskRefused | StorageError>
  /**
   * Goes on with the run that a call had asked for in a process that is no more: its outcome, or that it was accepted;
   * undefined where the call had not come to it.
   */
  readonly reattach: (
    parentID: SessionID,
    partID: PartID,
    progress: TaskProgress
  ) => Effect.Effect<Outcome | Accepted | undefined, TaskRefused | StorageError>
  /** Lets a run go on in the background though a call waits for it; the call then ends as one that was accepted. */
  readonly promote: (task: TaskName) => Effect.Effect<Accepted, TaskRefused | StorageError>
  /** How the tasks of a session stand, or one of them. */
  readonly status: (
    of: { readonly parentID: SessionID; readonly taskID?: string }
  ) => Effect.Effect<ReadonlyArray<TaskStatus>, TaskRefused | StorageError>
  /**
   * Says something to a task: at work it reads that at its next step, else it begins a run in the background. Nothing that
   * was said is lost where the two cross.
   */
  readonly message: (
    task: TaskName,
    message: string
  ) => Effect.Effect<"steered" | Accepted, TaskRefused | StorageError>
  /** Ends the runs of a task: its work is cut off, it may conclude in one step, and its partial work comes back. */
  readonly stop: (
    task: TaskName,
    by: { readonly by: string; readonly reason?: string }
  ) => Effect.Effect<ReadonlyArray<Outcome>, TaskRefused | StorageError>
  /** Waits until tasks have settled, or until the time is over. Whoever else is to know of the outcomes still hears of them. */
  readonly wait: (wait: TaskWait) => Effect.Effect<TaskWaited, TaskRefused | StorageError>
}>() {
  /** Tasks whose subagents run in this process. */
  static readonly layer = Layer.scoped(Tasks, makeTasks).pipe(
    Layer.provideMerge(Recovery.layer),
    Layer.provide(Alarms.layer),
    Layer.provideMerge(SessionRunner.layer),
    Layer.provideMerge(SessionTable.layer)
  )
}
