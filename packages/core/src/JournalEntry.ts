/** Decides what a commit consists of: rows, each of which implies its event, and events that no row implies. */
import type { Event, EventProperties, EventType } from "@skein/domain/Event"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { Write } from "./Write.ts"

/** The session that an event is of. */
export type EventSource = Pick<SessionInfo, "id" | "rootID" | "parentID" | "depth">

/** Kinds of event that watchers of this moment hear and nobody keeps. */
export type PassingType = "session.status" | "message.part.delta" | "background_task.progress"

/** Kinds of event that a stored row implies. */
export type RowType =
  | "session.created"
  | "session.updated"
  | "session.deleted"
  | "message.updated"
  | "message.part.updated"
  | "todo.updated"

/** Kinds of event that no row implies: whoever knows of them has to say so. */
export type FactType = Exclude<EventType, PassingType | RowType>

/** An event that no row implies. The first commit of it gives it its id and time; later tries of the commit keep them. */
export interface Fact {
  readonly _tag: "Fact"
  readonly source: EventSource
  readonly type: FactType
  readonly properties: EventProperties<FactType>
  /** Undefined until a commit begins. */
  event: Event | undefined
}

/** One change to store. It implies the event that tells of it, so nobody makes that event by hand. */
export type Entry =
  | Exclude<Write, { readonly _tag: "Session" | "DeleteSession" | "Event" }>
  /** `isNew`: the session is told as created, with everything of it in the same commit. */
  | { readonly _tag: "Session"; readonly info: SessionInfo; readonly isNew?: boolean }
  | { readonly _tag: "DeleteSession"; readonly info: SessionInfo }
  | Fact
