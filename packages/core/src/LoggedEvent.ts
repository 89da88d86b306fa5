/** Events as the log stores them, and which of them may be pruned. */
import type { Event } from "@skein/domain/Event"
import type { EventID } from "@skein/domain/Id"

/** An event of the log. */
export interface LoggedEvent {
  /** Its number in its tree. The first event of a tree has 1, and each later one has one more. */
  readonly seq: number
  /** Its place in the log of all trees. It grows from event to event, but not always by one. */
  readonly position: number
  readonly event: Event
}

/** An event of the log that cannot be read: it is damaged, or of a kind that this version does not know. */
export interface UnreadableEvent {
  readonly id: string
  readonly reason: string
  readonly seq: number
  readonly position: number
}

/** The range of the stored events. */
export interface EventRange {
  /** The number of the first stored event; `last + 1` if none is stored. */
  readonly first: number
  /** The number of the last event that was ever stored; 0 if there was none. */
  readonly last: number
}

/** Which events may be pruned. */
export interface Pruning {
  /** Only events older than this time. */
  readonly before: number
  /** Keeps the events of trees with a session that changed at or after this time. */
  readonly restingSince: number
  /** The maximum number of events to keep of one tree, whatever their age and whether or not it is active. */
  readonly mostPerTree?: number
  /** The maximum number of events to prune, oldest first. */
  readonly limit?: number
  /** Only counts them, and removes none. */
  readonly dryRun?: boolean
}

/** The `seq` of a commit's events, by id. Events that already existed have none. */
export type Places = ReadonlyMap<EventID, number>
