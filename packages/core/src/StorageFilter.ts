/** Which rows a read of storage asks for. */
import type { EventType } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"

/** What has ids that can be looked up by how they begin. */
export type Identified = "sessions" | "tasks" | "runs"

/** Sessions for which all of this holds. */
export interface SessionFilter {
  readonly projectID?: string
  readonly rootID?: SessionID
  readonly parentID?: SessionID
  /** Only sessions without a parent. */
  readonly roots?: boolean
  readonly limit?: number
}

/** Runs for which all of this holds. */
export interface RunFilter {
  readonly taskID?: SessionID
  readonly parentID?: SessionID
  readonly rootID?: SessionID
  readonly unsettled?: boolean
}

/** Events for which all of this holds. */
export interface EventFilter {
  /** Only events after this `seq` of the tree, or, where no tree is named, after this `position`; 0 is the beginning. */
  readonly after: number
  /** Only events of this tree. */
  readonly rootID?: SessionID
  /** Only events of these types. */
  readonly types?: ReadonlyArray<EventType>
  readonly limit?: number
}
