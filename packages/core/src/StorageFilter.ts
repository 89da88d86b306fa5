/** Which rows to read from storage, how they come back, and events as the log stores them. */
import type { Event, EventType } from "@skein/domain/Event"
import type { EventID, MessageID, RunID, SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import type { StorageError } from "./StorageError.ts"

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

/** What you can look up by a prefix of its id. */
export type Identified = "sessions" | "tasks" | "runs"

/** Sessions that match all of these. */
export interface SessionFilter {
  readonly projectID?: string
  readonly rootID?: SessionID
  readonly parentID?: SessionID
  /** Only sessions without a parent. Their titles are cut to the longest that may be given: this is for lists. */
  readonly roots?: boolean
  /** Only drafts; otherwise there is none of them. */
  readonly drafts?: boolean
  /** Only sessions that come after this one, newest change first. */
  readonly after?: { readonly updated: number; readonly id: SessionID }
  readonly limit?: number
}

/** How much a page of messages holds at most: so many, and not more than so many bytes of JSON, unless one is larger. */
interface PageSize {
  readonly limit: number
  readonly bytes: number
}

/** The newest messages of a session, or the newest of those before one if you name it. */
export interface Newest extends PageSize {
  readonly before?: MessageID | undefined
}

/** The messages after one, or from the oldest on if it is empty. */
export interface Following extends PageSize {
  readonly after: MessageID | ""
}

/** A page that memory and a connection can hold, however long the session is. */
export const messagesPage = { limit: 200, bytes: 1_000_000 } as const

/** A page of what is read only to be written somewhere: it waits in memory until it is collected. */
export const smallPage = { limit: 50, bytes: 100_000 } as const

/** How many of the items fit into a page, by their sizes: at least one. */
export const fitting = (sizes: ReadonlyArray<number>, { bytes, limit }: PageSize): number => {
  let sum = 0
  const beyond = sizes.slice(0, limit).findIndex((size, at) => (sum += size) > bytes && at > 0)
  return beyond < 0 ? Math.min(limit, sizes.length) : beyond
}

/** A page of messages that are in the order of creation, and where the next page begins: after the last of them, or before the first. */
export const pageOfMessages = <A extends { readonly info: { readonly id: MessageID } }>(
  messages: ReadonlyArray<A>,
  page: Following | Newest
): { readonly rows: ReadonlyArray<A>; readonly next?: MessageID } => {
  const isFollowing = "after" in page
  const rest = isFollowing
    ? messages.filter(({ info }) => info.id > page.after)
    : messages.filter(({ info }) => page.before === undefined || info.id < page.before).toReversed()
  const found = rest.slice(0, fitting(rest.slice(0, page.limit).map((each) => JSON.stringify(each).length), page))
  const last = found.at(-1)
  return {
    rows: isFollowing ? found : found.toReversed(),
    ...(last === undefined || found.length === rest.length ? {} : { next: last.info.id })
  }
}

/** Runs that match all of these. */
export interface RunFilter {
  readonly taskID?: SessionID
  readonly parentID?: SessionID
  readonly rootID?: SessionID
  readonly unsettled?: boolean
  /** Only the newest of them: so many, and only those before a run if you name one. The oldest comes first all the same. */
  readonly newest?: { readonly limit: number; readonly before?: RunID | undefined }
}

/** Events that match all of these. */
export interface EventFilter {
  /** Only events after this `seq` of the tree, or, if you name no tree, after this `position`; 0 is the beginning. */
  readonly after: number
  /** Only events of this tree. */
  readonly rootID?: SessionID
  /** Only events of these types. */
  readonly types?: ReadonlyArray<EventType>
  readonly limit?: number
  /** Called for each event that is left out because it cannot be read, in order. Without it, they are logged. */
  readonly onUnreadable?: (event: UnreadableEvent) => void
}

/** The rows found, and the ids of those that could not be read, with the reason. */
export interface Found<A> {
  readonly rows: ReadonlyArray<A>
  readonly unreadable: ReadonlyArray<{ readonly id: string; readonly reason: string }>
}

/** The result of a read, or nothing if it failed: that is logged, and the session continues without it. */
export const orUnreadable = <A, B>(
  read: Effect.Effect<A, StorageError>,
  nothing: B
): Effect.Effect<A | B, StorageError> =>
  Effect.catchIf(
    read,
    ({ reason }) => reason === "unreadable",
    (error) => Effect.as(Effect.logError(error.message), nothing)
  )
