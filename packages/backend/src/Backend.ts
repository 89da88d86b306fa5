/** Owns what a front end works on: sessions, their events, questions and tasks, wherever they run. */
import type { Page, Paging } from "@skein/core/Page"
import type { Machine } from "@skein/core/Whereabouts"
import type { PermissionReply } from "@skein/domain/Event"
import type { PartID, PermissionID, RunID, SessionID } from "@skein/domain/Id"
import type { Outcome, TaskRun } from "@skein/domain/Outcome"
import type { PendingAsk } from "@skein/domain/TreeSnapshot"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { BackendError } from "./BackendError.ts"
import type { ProjectFacts } from "./ProjectFacts.ts"
import type { Sessions } from "./Sessions.ts"
import type { Watching } from "./Watching.ts"

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
  readonly list: (session: SessionID, page: Paging) => Effect.Effect<Page<TaskRun>, BackendError>
  /** The runs of all sessions, newest first. */
  readonly newest: (page: Paging) => Effect.Effect<Page<TaskRun>, BackendError>
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

/** An answer of `always`, as it is stored. */
export interface Approval {
  readonly id: string
  readonly projectID: string
  readonly rootID?: SessionID | undefined
  /** Of one for the project, in a database of several hosts: where it counts. */
  readonly host?: string | undefined
  readonly permission: string
  readonly pattern: string
  readonly created: number
}

/** The questions. If somebody else answered one first, it fails with `PermissionNotFound` or `QuestionNotFound`. */
export interface Asking {
  /** The waiting questions, of one tree or of all: permission questions first, each kind oldest first. */
  readonly pending: (session: SessionID | undefined, page: Paging) => Effect.Effect<Page<PendingAsk>, BackendError>
  /** Answers a permission question; `scope` says where `always` applies, by default in this tree. */
  readonly reply: (
    id: PermissionID,
    answer: PermissionReply,
    options?: { readonly message?: string; readonly scope?: "tree" | "project" }
  ) => Effect.Effect<void, BackendError>
  /** Answers a question of an agent. */
  readonly answer: (
    id: PartID,
    answers: readonly [string, ...ReadonlyArray<string>]
  ) => Effect.Effect<void, BackendError>
  /** Dismisses a question of an agent. */
  readonly dismiss: (id: PartID) => Effect.Effect<void, BackendError>
  /** The approvals of a project, oldest first: all, or those that apply to a session's tree. */
  readonly approvals: (
    projectID: string,
    session: SessionID | undefined,
    page: Paging
  ) => Effect.Effect<Page<Approval>, BackendError>
  /** Revokes an approval. */
  readonly revoke: (projectID: string, id: string) => Effect.Effect<void, BackendError>
}

/** Where sessions run: in this process, or on a server. */
export type Where =
  | { readonly _tag: "Local" }
  | { readonly _tag: "Server"; readonly url: string; readonly version: string }

/** What a front end works on. `LocalBackend` and `ServerBackend` have the layers. */
export class Backend extends Context.Tag("@skein/backend/Backend")<Backend, {
  readonly where: Where
  readonly sessions: Sessions
  readonly watch: Watching
  readonly asks: Asking
  readonly tasks: TaskControl
  readonly projects: ProjectFacts
  /** The machine on which new sessions work; undefined if it is that of this process, or not known. */
  readonly machine: Effect.Effect<Machine | undefined, BackendError>
  /** Fails if the stored data is gone, for example because the database file was deleted. */
  readonly intact: Effect.Effect<void, BackendError>
}>() {}
