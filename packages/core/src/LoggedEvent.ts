/** Events as the log keeps them, and which of them it may forget. */
import type { Event } from "@skein/domain/Event"
import type { EventID } from "@skein/domain/Id"

/** An event of the log. */
export interface LoggedEvent {
  /** Its number in its tree: the first event of a tree has 1, and each later one a number more. */
  readonly seq: number
  /** Its place in the log of all trees, which grows from event to event, but not by one. */
  readonly position: number
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

/** The `seq` of the events of a commit, by their ids; an event that was there before has none. */
export type Places = ReadonlyMap<EventID, number>
