/**
 * Reads stored events for streams, with a mark where one cannot be read: clients must not take what they get for all that
 * happened.
 */
import type { LoggedEvent, SessionStorage, UnreadableEvent } from "@skein/core/SessionStorage"
import type { EventFilter } from "@skein/core/StorageFilter"
import * as Effect from "effect/Effect"

/** How many stored events are read at a time. */
const pageSize = 500

/** A stored event, or the place of one or several in a row that cannot be read: that of the last one. */
export type Stored = LoggedEvent | (Pick<LoggedEvent, "position" | "seq"> & { readonly event: undefined })

/** A page of the log, and whether it is the last one for now. */
interface Page {
  readonly rows: ReadonlyArray<Stored>
  readonly isLast: boolean
}

const merged = (
  events: ReadonlyArray<LoggedEvent>,
  unreadable: ReadonlyArray<UnreadableEvent>,
  place: "position" | "seq"
): ReadonlyArray<Stored> => {
  const lost = unreadable.map(({ position, seq }): Stored => ({ position, seq, event: undefined }))
  const all = [...events, ...lost].toSorted((a, b) => a[place] - b[place])
  return all.filter(({ event }, at) => event !== undefined || at === all.length - 1 || all[at + 1]?.event !== undefined)
}

/** Reads the next page. */
export const readStored = Effect.fnUntraced(function*(
  storage: typeof SessionStorage.Service,
  filter: Pick<EventFilter, "after" | "rootID">
) {
  const unreadable: Array<UnreadableEvent> = []
  const events = yield* storage.events({
    ...filter,
    limit: pageSize,
    onUnreadable: (event) => void unreadable.push(event)
  })
  for (const { id, reason } of unreadable) {
    yield* Effect.logWarning(`Event ${id} cannot be read (${reason}). Clients are told to read its tree again.`)
  }
  const page: Page = {
    rows: unreadable.length === 0
      ? events
      : merged(events, unreadable, filter.rootID === undefined ? "position" : "seq"),
    isLast: events.length < pageSize
  }
  return page
})
