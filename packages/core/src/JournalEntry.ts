/** Decides what a commit consists of: rows, each of which implies its event, and events that no row implies. */
import type { Event, EventProperties, EventType } from "@skein/domain/Event"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { Write } from "./Write.ts"

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
