/** One change of what is stored. */
import type { Event } from "@skein/domain/Event"
import type { MessageID, PartID, SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { Message } from "@skein/domain/Message"
import type { TaskRun } from "@skein/domain/Outcome"
import type { Part } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { Todo } from "@skein/domain/Todo"
import type { Approval } from "./Approval.ts"
import type { Lease, StoredLease } from "./Lease.ts"

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

/** Takes hold of a tree. */
export type Hold = Extract<Write, { readonly _tag: "Hold" }>
