/** What a commit consists of: changes of rows, each of which implies its event, and events that no row implies. */
import type { ControlRow } from "@skein/domain/Control"
import type { Event, EventProperties, EventType } from "@skein/domain/Event"
import type { ControlID, MessageID, PartID, RunID, SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { Message } from "@skein/domain/Message"
import type { TaskRun } from "@skein/domain/Outcome"
import type { Part } from "@skein/domain/Part"
import type { Rule } from "@skein/domain/Rule"
import type { SessionInfo, Todo } from "@skein/domain/SessionInfo"
import type { Lease, StoredLease } from "./Lease.ts"

/** An answer of `always`: it turns `ask` into `allow` from then on, in a project or in one of its trees of sessions. */
export interface Approval {
  readonly id: string
  readonly projectID: string
  /**
   * The root of the only tree that it applies to; it is deleted with that tree. Absent if it applies to the project.
   */
  readonly rootID?: SessionID
  /**
   * Of one for the project, where the database has several hosts: the key of the machine on which it was given. It counts
   * only there, because the path is another project elsewhere.
   */
  readonly host?: string
  readonly permission: string
  readonly pattern: string
  readonly created: number
}

/** An approval as a rule. */
export const approvalRule = (approval: Approval): Rule => ({
  permission: approval.permission,
  pattern: approval.pattern,
  action: "allow"
})

/** A request that was carried out under a key of its sender. */
export interface Receipt {
  /** What the sender calls the request. */
  readonly key: string
  /** A digest of all that was sent: a key stands for one request. */
  readonly digest: string
  readonly sessionID: SessionID
  /** What the sender got: one id, several with a space between them, or for a summary its JSON. */
  readonly result: string
  /** In milliseconds since 1970. */
  readonly created: number
}

/** A request that is to leave a receipt. */
export type Keyed = Pick<Receipt, "key" | "digest">

/** How long receipts are kept, and answers to requests that nobody read, in milliseconds. */
export const receiptLifetime = 24 * 60 * 60_000

/**
 * A change. Puts replace the whole row of the same id. A row whose session, parent session or message is not stored is
 * refused with reason `constraint`; what it belongs to may come later in the same commit.
 */
export type Write =
  /**
   * `isNew`: no session of this id is stored. `isDraft`: nobody finds it, nor its runs, by an id or in a list until it is
   * stored again without that, so that its rows can be stored in several commits and appear with the last one.
   */
  | { readonly _tag: "Session"; readonly info: SessionInfo; readonly isNew?: boolean; readonly isDraft?: boolean }
  /** Deletes a session and all that belongs to it, including the sessions below it. */
  | { readonly _tag: "DeleteSession"; readonly id: SessionID }
  | { readonly _tag: "Message"; readonly info: Message }
  | { readonly _tag: "Part"; readonly part: Part }
  | { readonly _tag: "RemovePart"; readonly id: PartID; readonly sessionID: SessionID }
  /** A settled run stays settled: a later row of it that is not settled changes nothing. */
  | { readonly _tag: "Run"; readonly run: TaskRun }
  /**
   * A session or run that cannot be read counts as finished, although its row stays: it was stopped at this time. A session
   * does so until it is stored again.
   */
  | {
    readonly _tag: "Shelve"
    readonly of: "session" | "run"
    readonly id: SessionID | RunID
    readonly rootID: SessionID
    readonly at: number
  }
  /** A second row for the same `runID` is refused with reason `constraint`, even after the first was taken. */
  | { readonly _tag: "Inbox"; readonly row: InboxRow }
  /**
   * A row has become a message of a turn. Refused with reason `constraint` if it was taken already or does not exist.
   */
  | { readonly _tag: "InboxTaken"; readonly id: MessageID; readonly sessionID: SessionID; readonly at: number }
  /** Also removes expired receipts. Fails with `constraint` if there is one under its key to which it does not add. */
  | { readonly _tag: "Receipt"; readonly receipt: Receipt }
  /** The first of two with the same id is kept. Ephemeral events are not stored. */
  | { readonly _tag: "Event"; readonly event: Event }
  | { readonly _tag: "Approval"; readonly approval: Approval }
  /**
   * Any process may ask; the one that holds the tree stores the row again, with its answer. An answer to a request that was
   * withdrawn changes nothing.
   */
  | { readonly _tag: "Control"; readonly row: ControlRow }
  | { readonly _tag: "RemoveControl"; readonly id: ControlID }
  | { readonly _tag: "RemoveApproval"; readonly id: string }
  | { readonly _tag: "Todos"; readonly sessionID: SessionID; readonly todos: ReadonlyArray<Todo> }
  /**
   * Acquires a tree for `length` milliseconds on the clock of the storage; refused with reason `held` if its stored
   * lease is no longer what was `found`.
   */
  | { readonly _tag: "Hold"; readonly lease: Lease; readonly length: number; readonly found: StoredLease }
  /**
   * Renews the lease for `length` milliseconds from now; refused with reason `held` if the tree is no longer held like
   * this. A commit of nothing but renewals waits for no other commits, and may make some of them if it is refused.
   */
  | { readonly _tag: "Renew"; readonly lease: Lease; readonly length: number }
  /**
   * Changes nothing, but everything else in the commit is refused with reason `held` if the tree is no longer held like
   * this.
   */
  | { readonly _tag: "Fence"; readonly lease: Lease }
  /** Releases a tree; does nothing if the tree is no longer held like this. */
  | { readonly _tag: "Release"; readonly lease: Lease }

/** Acquires a tree. */
export type Hold = Extract<Write, { readonly _tag: "Hold" }>

/** The session that an event belongs to. */
export type EventSource = Pick<SessionInfo, "id" | "rootID" | "parentID" | "depth">

/** Ephemeral events: published, never stored. */
export type PassingType = "session.status" | "message.part.delta" | "background_task.progress"

/** Kinds of event that a stored row implies. */
export type RowType =
  | "session.created"
  | "session.updated"
  | "session.deleted"
  | "message.updated"
  | "message.part.updated"
  | "todo.updated"

/** Events that no row implies: the caller must add them to the commit. */
export type FactType = Exclude<EventType, PassingType | RowType>

/** An event that no row implies. Its first commit assigns id and time; retries of the commit keep them. */
export interface Fact {
  readonly _tag: "Fact"
  readonly source: EventSource
  readonly type: FactType
  readonly properties: EventProperties<FactType>
  /** Undefined until a commit begins. */
  event: Event | undefined
}

/** A change to store. It implies its event, so nobody creates that event by hand. */
export type Entry =
  | Exclude<Write, { readonly _tag: "Session" | "DeleteSession" | "Event" }>
  /** `isNew`: publishes the session as created, with everything else about it in the same commit. */
  | { readonly _tag: "Session"; readonly info: SessionInfo; readonly isNew?: boolean }
  | { readonly _tag: "DeleteSession"; readonly info: SessionInfo }
  | Fact
