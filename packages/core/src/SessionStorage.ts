/** The port to durable storage: sessions, messages, parts, runs, inboxes, events, approvals and todos. */
import type { ControlRow } from "@skein/domain/Control"
import type { ControlID, MessageID, RunID, SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { TaskRun } from "@skein/domain/Outcome"
import type { MessageWithParts } from "@skein/domain/Part"
import type { SessionInfo, Todo } from "@skein/domain/SessionInfo"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import { makeMemoryStorage } from "./internal/memory/memoryStorage.ts"
import type { StoredLease } from "./Lease.ts"
import type { StorageError } from "./StorageError.ts"
import {
  type EventFilter,
  type EventRange,
  type Following,
  type Found,
  type Identified,
  type LoggedEvent,
  messagesPage,
  type Newest,
  type Places,
  type Pruning,
  type RunFilter,
  type SessionFilter
} from "./StorageFilter.ts"
import type { Approval, Receipt, Write } from "./Write.ts"

export { isOver, type Lease, type StoredLease } from "./Lease.ts"
export { type Found, orUnreadable } from "./StorageFilter.ts"
export type { LoggedEvent, Pruning, UnreadableEvent } from "./StorageFilter.ts"
export type { Approval } from "./Write.ts"
export type { Write } from "./Write.ts"

/** Some of the messages of a session. */
export interface MessagePage extends Found<MessageWithParts> {
  readonly next?: MessageID
}

/** Durable storage. Reads see every commit that was acknowledged before. */
export class SessionStorage extends Context.Tag("@skein/core/SessionStorage")<SessionStorage, {
  /**
   * Applies all changes or none, in this order, after every commit requested earlier. Ends when they are durable.
   * Interruption does not undo a requested commit. Returns the positions of its events, and possibly those of others.
   *
   * Calls `onStored` with the same as soon as the commit is durable, before the effect ends. It does so in the order of the
   * commits, which their fibers need not continue in. `onStored` must not throw.
   */
  readonly commit: (
    writes: ReadonlyArray<Write>,
    onStored?: (places: Places) => void
  ) => Effect.Effect<Places, StorageError>
  /**
   * Fails with reason `gone` if commits can no longer be found, for example because the file was deleted; absent if
   * that is impossible.
   */
  readonly intact?: Effect.Effect<void, StorageError>
  readonly session: (id: SessionID) => Effect.Effect<Option.Option<SessionInfo>, StorageError>
  /** The ids with this prefix, in order, at most `limit`. A task's id is that of its session. */
  readonly ids: (
    of: Identified,
    start: string,
    limit: number
  ) => Effect.Effect<ReadonlyArray<string>, StorageError>
  /** Who holds the tree of a root session, as of the last commit of any process. */
  readonly lease: (rootID: SessionID) => Effect.Effect<Option.Option<StoredLease>, StorageError>
  /** The same of several trees; those that do not exist are left out. */
  readonly leases: (
    rootIDs: ReadonlyArray<SessionID>
  ) => Effect.Effect<ReadonlyMap<SessionID, StoredLease>, StorageError>
  /** Sessions, latest change first. */
  readonly sessions: (filter: SessionFilter) => Effect.Effect<Found<SessionInfo>, StorageError>
  /** All messages of a session with their parts, in the order of creation. They may be more than memory holds: prefer pages. */
  readonly messages: (id: SessionID) => Effect.Effect<Found<MessageWithParts>, StorageError>
  /**
   * A page of the messages of a session, in the order of creation. `next` is where the next page begins, if there is one: it
   * comes after that message, or before it if you read the newest.
   */
  readonly messagePage: (id: SessionID, page: Following | Newest) => Effect.Effect<MessagePage, StorageError>
  readonly run: (id: RunID) => Effect.Effect<Option.Option<TaskRun>, StorageError>
  /** Runs, oldest first. */
  readonly runs: (filter: RunFilter) => Effect.Effect<Found<TaskRun>, StorageError>
  /**
   * The requests to holders of trees that have no answer, oldest first. Returns undefined, at almost no cost, if other
   * processes stored nothing since the last call. Absent if no other process has access.
   */
  readonly mail?: Effect.Effect<ReadonlyArray<ControlRow> | undefined, StorageError>
  /** The requests to the holder of this tree that have no answer, oldest first. */
  readonly waiting: (rootID: SessionID) => Effect.Effect<ReadonlyArray<ControlRow>, StorageError>
  /** A request to the holder of a tree, with its answer once it has one. */
  readonly control: (id: ControlID) => Effect.Effect<Option.Option<ControlRow>, StorageError>
  /** The inbox of a session, oldest first. */
  readonly inbox: (id: SessionID) => Effect.Effect<Found<InboxRow>, StorageError>
  /**
   * Events of the log, oldest first. An event about an updated session, message or part shows it as it is now, and is
   * left out if it was deleted. One that cannot be read is left out as well; the limit counts only the others.
   */
  readonly events: (filter: EventFilter) => Effect.Effect<ReadonlyArray<LoggedEvent>, StorageError>
  /** The range of stored events: of a tree by `seq`, or, if you name none, of all trees by `position`. */
  readonly eventRange: (rootID?: SessionID) => Effect.Effect<EventRange, StorageError>
  /** The request that was carried out with a key; none once its receipt has expired. */
  readonly receipt: (key: string) => Effect.Effect<Option.Option<Receipt>, StorageError>
  /**
   * The roots of trees with unfinished work: an open turn that is not left alone, an unsettled run, or a message that needs an
   * answer. Notifications for a stopped session do not count.
   */
  readonly unfinished: Effect.Effect<ReadonlyArray<SessionID>, StorageError>
  /**
   * Prunes the log up to the first event that is recent enough, and returns the number of pruned events. An active tree
   * keeps all its events: a session changed recently, a tool call is open, or a run is unsettled. Then it prunes what a
   * tree has beyond its maximum.
   */
  readonly prune: (events: Pruning) => Effect.Effect<number, StorageError>
  /** Approvals of a project, oldest first: all, or those that apply to one of its trees, alone or with others. */
  readonly approvals: (
    projectID: string,
    rootID?: SessionID
  ) => Effect.Effect<ReadonlyArray<Approval>, StorageError>
  readonly todos: (id: SessionID) => Effect.Effect<ReadonlyArray<Todo>, StorageError>
}>() {
  /** Storage that lasts as long as the layer. */
  static readonly layerMemory: Layer.Layer<SessionStorage> = Layer.sync(SessionStorage, makeMemoryStorage)
}

/** Reads the messages of a session from the first one on, a page at a time. */
export const eachMessagePage = <E, R>(
  id: SessionID,
  use: (page: MessagePage) => Effect.Effect<void, E, R>,
  size: Pick<Following, "bytes" | "limit"> = messagesPage
): Effect.Effect<void, E | StorageError, R | SessionStorage> =>
  Effect.flatMap(SessionStorage, (storage) => {
    const from = (after: Following["after"]): Effect.Effect<void, E | StorageError, R> =>
      Effect.flatMap(
        storage.messagePage(id, { ...size, after }),
        (page) => Effect.zipRight(use(page), page.next === undefined ? Effect.void : from(page.next))
      )
    return from("")
  })
