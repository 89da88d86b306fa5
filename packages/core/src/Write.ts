/** One change of what is stored. */
import type { ControlRow } from "@skein/domain/Control"
import type { Event } from "@skein/domain/Event"
import type { ControlID, MessageID, PartID, RunID, SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { Message } from "@skein/domain/Message"
import type { TaskRun } from "@skein/domain/Outcome"
import type { Part } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { Todo } from "@skein/domain/Todo"
import type { Approval } from "./Approval.ts"
import type { Lease, StoredLease } from "./Lease.ts"
import type { Receipt } from "./Receipt.ts"

/**
 * A change. Puts replace the whole row of the same id. A row whose session, parent session or message is not stored is
 * refused with reason `constraint`; what it belongs to may come later in the same commit.
 */
export type Write =
  /** `isNew`: no session of this id is stored. */
  | { readonly _tag: "Session"; readonly info: SessionInfo; readonly isNew?: boolean }
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
  /** Any process may ask; the one that holds the tree stores the row again, with its answer. */
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
