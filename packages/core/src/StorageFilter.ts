/** Which rows to read from storage. */
import type { EventType } from "@skein/domain/Event"
import type { MessageID, RunID, SessionID } from "@skein/domain/Id"
import type { UnreadableEvent } from "./LoggedEvent.ts"

/** What you can look up by a prefix of its id. */
export type Identified = "sessions" | "tasks" | "runs"

/** Sessions that match all of these. */
export interface SessionFilter {
  readonly projectID?: string
  readonly rootID?: SessionID
  readonly parentID?: SessionID
  /** Only sessions without a parent. Their titles are cut to the longest that may be given: this is for lists. */
  readonly roots?: boolean
  /** Only sessions that come after this one, newest change first. */
  readonly after?: { readonly updated: number; readonly id: SessionID }
  readonly limit?: number
}

/** The newest messages of a session: so many, and only those before a message if you name one. */
export interface Newest {
  readonly limit: number
  readonly before?: MessageID | undefined
}

/**
 * The messages after one, from the oldest on if it is empty: at most so many, and not more than so many bytes of JSON, unless
 * one is larger.
 */
export interface Following {
  readonly after: MessageID | ""
  readonly limit: number
  readonly bytes: number
}

/** A page that memory and a connection can hold, however long the session is. */
export const messagesPage = { limit: 200, bytes: 1_000_000 } as const

/** How many of the items fit into a page, by their sizes: at least one. */
export const fitting = (sizes: ReadonlyArray<number>, { bytes, limit }: Pick<Following, "bytes" | "limit">): number => {
  let sum = 0
  const beyond = sizes.slice(0, limit).findIndex((size, at) => (sum += size) > bytes && at > 0)
  return beyond < 0 ? Math.min(limit, sizes.length) : beyond
}

/** The following of messages that are in the order of creation, and the last of them if there are more. */
export const followingOf = <A extends { readonly info: { readonly id: MessageID } }>(
  messages: ReadonlyArray<A>,
  page: Following
): { readonly rows: ReadonlyArray<A>; readonly next?: MessageID } => {
  const rest = messages.filter(({ info }) => info.id > page.after)
  const rows = rest.slice(0, fitting(rest.slice(0, page.limit).map((each) => JSON.stringify(each).length), page))
  const last = rows.at(-1)
  return { rows, ...(last === undefined || rows.length === rest.length ? {} : { next: last.info.id }) }
}

/** The newest of messages that are in the order of creation; all of them by default. */
export const newestOf = <A extends { readonly info: { readonly id: MessageID } }>(
  messages: ReadonlyArray<A>,
  newest: Newest | undefined
): ReadonlyArray<A> => {
  if (newest === undefined) return messages
  const { before, limit } = newest
  const earlier = before === undefined ? messages : messages.filter(({ info }) => info.id < before)
  return earlier.slice(Math.max(0, earlier.length - limit))
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
