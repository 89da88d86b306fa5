/** The port to what lasts: sessions, messages, parts, runs, inboxes, events, approvals and todos. */
import type { Event, EventType } from "@skein/domain/Event"
import type { MessageID, PartID, RunID, SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { Message } from "@skein/domain/Message"
import type { TaskRun } from "@skein/domain/Outcome"
import type { MessageWithParts, Part } from "@skein/domain/Part"
import type { Rule } from "@skein/domain/Rule"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { Todo } from "@skein/domain/Todo"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import { makeMemoryStorage } from "./internal/memory/memoryStorage.ts"
import type { StorageError } from "./StorageError.ts"

/** An answer of `always`: from then on it turns `ask` into `allow`, in a project or in one tree of sessions of it. */
export interface Approval {
  readonly id: string
  readonly projectID: string
  /** The root of the only tree that it holds for, with which it is removed; it holds for the project where absent. */
  readonly rootID?: SessionID
  readonly permission: string
  readonly pattern: string
  readonly created: number
}

/** Who holds a tree of sessions, as one commit after the other says. */
export interface Lease {
  readonly rootID: SessionID
  /** The process that holds it. */
  readonly owner: string
  /** Counts how often the tree was taken hold of: two holders never have the same. */
  readonly epoch: number
}

/** What is stored of who holds a tree; a tree that nobody holds has no owner. */
export interface StoredLease {
  readonly owner: string | undefined
  /** Of the last one who took hold; 0 where nobody ever did. */
  readonly epoch: number
  /** When it ends unless it is renewed, in milliseconds since 1970 on the clock of the storage; 0 where nobody holds it. */
  readonly until: number
  /** How long that was ahead when it was read, in milliseconds by the same clock; 0 where it is over. */
  readonly left: number
}

/** For how long a tree is held at a time, in milliseconds. */
export const leaseLength = 15_000

/** Whether a lease is over by its clock. One that ends later than any can is from before that clock was set back. */
export const isOver = ({ left }: StoredLease): boolean => left === 0 || left > leaseLength

/**
 * One change. Puts replace the whole row of the same id. A row whose session, parent session or message is not stored is
 * refused with reason `constraint`; what it belongs to may come after it in the same commit.
 */
export type Write =
  | { readonly _tag: "Session"; readonly info: SessionInfo }
  /** Removes a session and all that belongs to it, sessions below it included. */
  | { readonly _tag: "DeleteSession"; readonly id: SessionID }
  | { readonly _tag: "Message"; readonly info: Message }
  | { readonly _tag: "Part"; readonly part: Part }
  | { readonly _tag: "RemovePart"; readonly id: PartID; readonly sessionID: SessionID }
  | { readonly _tag: "Run"; readonly run: TaskRun }
  /** A second row for the same `runID` is refused with reason `constraint`, even after the first was taken. */
  | { readonly _tag: "Inbox"; readonly row: InboxRow }
  /** A row has become a message of a turn. Refused with reason `constraint` where it was taken already or is not there. */
  | { readonly _tag: "InboxTaken"; readonly id: MessageID; readonly sessionID: SessionID; readonly at: number }
  /** Of two with the same id the first is kept. Kinds that live on the bus only are not kept: nothing is stored of them. */
  | { readonly _tag: "Event"; readonly event: Event }
  | { readonly _tag: "Approval"; readonly approval: Approval }
  | { readonly _tag: "RemoveApproval"; readonly id: string }
  | { readonly _tag: "Todos"; readonly sessionID: SessionID; readonly todos: ReadonlyArray<Todo> }
  /**
   * Takes hold of a tree for `length` milliseconds on the clock of the storage; refused with reason `held` where what is stored
   * of it is no longer what was `found`.
   */
  | { readonly _tag: "Hold"; readonly lease: Lease; readonly length: number; readonly found: StoredLease }
  /** Holds it for `length` milliseconds from now; refused with reason `held` where the tree is not held so any more. */
  | { readonly _tag: "Renew"; readonly lease: Lease; readonly length: number }
  /** Nothing is changed, but all else in the commit is refused with reason `held` where the tree is not held so any more. */
  | { readonly _tag: "Fence"; readonly lease: Lease }
  /** Lets go of a tree; nothing happens where it is not held so any more. */
  | { readonly _tag: "Release"; readonly lease: Lease }

/** Rows that were found, and the ids of those that could not be read, with the reason. */
export interface Found<A> {
  readonly rows: ReadonlyArray<A>
  readonly unreadable: ReadonlyArray<{ readonly id: string; readonly reason: string }>
}

/** What was read, or nothing where it cannot be: the log tells of it, and a session goes on without it. */
export const orUnreadable = <A, B>(
  read: Effect.Effect<A, StorageError>,
  nothing: B
): Effect.Effect<A | B, StorageError> =>
  Effect.catchIf(
    read,
    ({ reason }) => reason === "unreadable",
    (error) => Effect.as(Effect.logError(error.message), nothing)
  )

/** An event with its place in the log. */
export interface LoggedEvent {
  readonly seq: number
  readonly event: Event
}

/** Which events may be forgotten. */
export interface Pruning {
  /** Only events from before this time. */
  readonly before: number
  /** Trees of sessions in which one was changed at this time or later keep theirs. */
  readonly restingSince: number
  /** How many events of one tree are kept at most, whatever their age and whatever goes on there. */
  readonly mostPerTree?: number
  /** How many at most, the oldest first. */
  readonly limit?: number
  /** Says how many there are, and removes none. */
  readonly dryRun?: boolean
}

/** What lasts. Reads see every commit that was acknowledged before. */
export class SessionStorage extends Context.Tag("@skein/core/SessionStorage")<SessionStorage, {
  /**
   * Makes all changes or none, in this order, after every commit that was asked for earlier. Ends when they are durable.
   * Interruption does not undo a commit that was asked for.
   */
  readonly commit: (writes: ReadonlyArray<Write>) => Effect.Effect<void, StorageError>
  /** Fails with reason `gone` where nobody can find any more what is committed; absent where that cannot be. */
  readonly intact?: Effect.Effect<void, StorageError>
  readonly session: (id: SessionID) => Effect.Effect<Option.Option<SessionInfo>, StorageError>
  /** The ids that begin with these characters, in their order, at most `limit`. A task's id is that of its session. */
  readonly ids: (
    of: "sessions" | "tasks" | "runs",
    start: string,
    limit: number
  ) => Effect.Effect<ReadonlyArray<string>, StorageError>
  /** Who holds the tree of a root session, as of the last commit of any process. */
  readonly lease: (rootID: SessionID) => Effect.Effect<Option.Option<StoredLease>, StorageError>
  /** Sessions, newest change first. `roots`: only those without a parent. */
  readonly sessions: (filter: {
    readonly projectID?: string
    readonly rootID?: SessionID
    readonly parentID?: SessionID
    readonly roots?: boolean
    readonly limit?: number
  }) => Effect.Effect<Found<SessionInfo>, StorageError>
  /** All messages of a session with their parts, in the order in which they were made. */
  readonly messages: (id: SessionID) => Effect.Effect<Found<MessageWithParts>, StorageError>
  readonly run: (id: RunID) => Effect.Effect<Option.Option<TaskRun>, StorageError>
  /** Runs, oldest first. */
  readonly runs: (filter: {
    readonly taskID?: SessionID
    readonly parentID?: SessionID
    readonly rootID?: SessionID
    readonly unsettled?: boolean
  }) => Effect.Effect<Found<TaskRun>, StorageError>
  /**
   * What other processes have put into inboxes for the tasks of this one, and nobody has taken; undefined where nothing was
   * stored by others since the last look, which costs next to nothing. Absent where no other process has access.
   */
  readonly mail?: Effect.Effect<ReadonlyArray<InboxRow> | undefined, StorageError>
  /** What waits for a session, oldest first. */
  readonly inbox: (id: SessionID) => Effect.Effect<Found<InboxRow>, StorageError>
  /**
   * Events after a place in the log (0: from the beginning), oldest first. An event that a session, message or part was
   * updated shows it as it is when it is read, and is left out when it is gone.
   */
  readonly events: (filter: {
    readonly after: number
    readonly rootID?: SessionID
    /** Only events of these types. */
    readonly types?: ReadonlyArray<EventType>
    readonly limit?: number
  }) => Effect.Effect<ReadonlyArray<LoggedEvent>, StorageError>
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

/** An approval as a rule. */
export const approvalRule = (approval: Approval): Rule => ({
  permission: approval.permission,
  pattern: approval.pattern,
  action: "allow"
})
