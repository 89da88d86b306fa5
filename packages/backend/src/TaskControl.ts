/** Decides what a front end can do with tasks. */
import type { RunID, SessionID } from "@skein/domain/Id"
import type { Outcome, TaskRun } from "@skein/domain/Outcome"
import type * as Effect from "effect/Effect"
import type { BackendError } from "./BackendError.ts"

/** What happened to a message for a task: a running task reads it, an idle one begins a run. */
export type Told =
  | { readonly status: "steered" }
  | { readonly status: "accepted"; readonly taskID: SessionID; readonly runID: RunID }

/** The state at the end of a wait. */
export interface Waited {
  readonly settled: ReadonlyArray<Outcome>
  readonly pending: ReadonlyArray<SessionID>
}

/** The tasks. A task is named by its id alone: its person may control all of them. */
export interface TaskControl {
  /** The runs of all tasks in a session's tree, oldest first. */
  readonly list: (session: SessionID) => Effect.Effect<ReadonlyArray<TaskRun>, BackendError>
  /** The newest runs of all sessions, at most 500, newest first. */
  readonly newest: (limit: number) => Effect.Effect<ReadonlyArray<TaskRun>, BackendError>
  /** The runs of a task, oldest first, and what it does or waits for. The id may also be the id of a run. */
  readonly get: (
    id: RunID | SessionID
  ) => Effect.Effect<{ readonly runs: ReadonlyArray<TaskRun>; readonly doing: string }, BackendError>
  /** Stops a task, and returns the outcomes of its running runs. */
  readonly stop: (id: SessionID, reason?: string) => Effect.Effect<ReadonlyArray<Outcome>, BackendError>
  /** Sends a message to a task: a running one reads it at its next step, an idle one starts again. */
  readonly message: (id: SessionID, message: string) => Effect.Effect<Told, BackendError>
  /** Moves a run to the background while a call waits for it. */
  readonly promote: (id: SessionID) => Effect.Effect<void, BackendError>
  /** Waits until the newest run of a task has settled, or for this many milliseconds. */
  readonly wait: (id: SessionID, timeout: number) => Effect.Effect<Waited, BackendError>
}
