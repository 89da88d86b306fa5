/** The port to what lasts: sessions, messages, parts, runs, inboxes, events, approvals and todos. */
import type { RunID, SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { TaskRun } from "@skein/domain/Outcome"
import type { MessageWithParts } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { Todo } from "@skein/domain/Todo"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type { Approval } from "./Approval.ts"
import type { Found } from "./Found.ts"
import { makeMemoryStorage } from "./internal/memory/memoryStorage.ts"
import type { StoredLease } from "./Lease.ts"
import type { LoggedEvent, Places, Pruning } from "./LoggedEvent.ts"
import type { StorageError } from "./StorageError.ts"
import type { EventFilter, Identified, RunFilter, SessionFilter } from "./StorageFilter.ts"
import type { Write } from "./Write.ts"

export type { Approval } from "./Approval.ts"
export { type Found, orUnreadable } from "./Found.ts"
export { isOver, type Lease, type StoredLease } from "./Lease.ts"
export type { LoggedEvent, Pruning } from "./LoggedEvent.ts"
export type { Write } from "./Write.ts"

/** What lasts. Reads see every commit that was acknowledged before. */
export class SessionStorage extends Context.Tag("@skein/core/SessionStorage")<SessionStorage, {
  /**
   * Makes all changes or none, in this order, after every commit that was asked for earlier. Ends when they are durable.
   * Interruption does not undo a commit that was asked for. Gives the places of its events, and may give those of others.
   */
  readonly commit: (writes: ReadonlyArray<Write>) => Effect.Effect<Places, StorageError>
  /** Fails with reason `gone` where nobody can find any more what is committed; absent where that cannot be. */
  readonly intact?: Effect.Effect<void, StorageError>
  readonly session: (id: SessionID) => Effect.Effect<Option.Option<SessionInfo>, StorageError>
  /** The ids that begin with these characters, in their order, at most `limit`. A task's id is that of its session. */
  readonly ids: (
    of: Identified,
    start: string,
    limit: number
  ) => Effect.Effect<ReadonlyArray<string>, StorageError>
  /** Who holds the tree of a root session, as of the last commit of any process. */
  readonly lease: (rootID: SessionID) => Effect.Effect<Option.Option<StoredLease>, StorageError>
  /** Sessions, newest change first. */
  readonly sessions: (filter: SessionFilter) => Effect.Effect<Found<SessionInfo>, StorageError>
  /** All messages of a session with their parts, in the order in which they were made. */
  readonly messages: (id: SessionID) => Effect.Effect<Found<MessageWithParts>, StorageError>
  readonly run: (id: RunID) => Effect.Effect<Option.Option<TaskRun>, StorageError>
  /** Runs, oldest first. */
  readonly runs: (filter: RunFilter) => Effect.Effect<Found<TaskRun>, StorageError>
  /**
   * What other processes have put into inboxes for the tasks of this one, and nobody has taken; undefined where nothing was
   * stored by others since the last look, which costs next to nothing. Absent where no other process has access.
   */
  readonly mail?: Effect.Effect<ReadonlyArray<InboxRow> | undefined, StorageError>
  /** What waits for a session, oldest first. */
  readonly inbox: (id: SessionID) => Effect.Effect<Found<InboxRow>, StorageError>
  /**
   * Events of the log, oldest first. An event that a session, message or part was
   * updated shows it as it is when it is read, and is left out when it is gone.
   */
  readonly events: (filter: EventFilter) => Effect.Effect<ReadonlyArray<LoggedEvent>, StorageError>
  /**
   * Removes the beginning of the log up to the first event that is not that old, and says how many events went. A tree of
   * sessions that is at work keeps all of its own: one was changed lately, has an open tool call, or a run is not settled.
   * After that it removes what a tree has beyond its most.
   */
  readonly prune: (events: Pruning) => Effect.Effect<number, StorageError>
  /** Approvals of a project, oldest first: all of them, or those that hold for one of its trees, be it alone or with others. */
  readonly approvals: (
    projectID: string,
    rootID?: SessionID
  ) => Effect.Effect<ReadonlyArray<Approval>, StorageError>
  readonly todos: (id: SessionID) => Effect.Effect<ReadonlyArray<Todo>, StorageError>
}>() {
  /** Storage that lasts as long as the layer. */
  static readonly layerMemory: Layer.Layer<SessionStorage> = Layer.sync(SessionStorage, makeMemoryStorage)
}
