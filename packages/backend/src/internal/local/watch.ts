/** Watches trees of this process through the bus, which calls the watcher immediately for each event. */
import { Bus, type BusFilter } from "@skein/core/Bus"
import { findSession } from "@skein/core/SessionLookup"
import { snapshotOf } from "@skein/core/Snapshots"
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import type { Watcher } from "../../Watching.ts"

/** How many events may wait for a snapshot. After one more, a newer snapshot is read instead. */
const mostHeld = 10_000

const filterOf = (of: { readonly rootID: SessionID } | { readonly all: true }, { deltas }: Watcher): BusFilter =>
  deltas === false ? { ...of, deltas } : of

/** Events that arrived before the snapshot. */
class Held {
  events: Array<Event> = []
  isOverflown = false

  take(event: Event): void {
    if (this.events.length < mostHeld) this.events.push(event)
    else this.isOverflown = true
  }

  clear(): void {
    this.events = []
    this.isOverflown = false
  }
}

/** Watches the tree of a session from now on. */
export const watchTree = Effect.fnUntraced(function*(id: SessionID, watcher: Watcher) {
  const bus = yield* Bus
  const { rootID } = yield* findSession(id)
  const { snapshot: show } = watcher
  if (show === undefined) return yield* bus.listen(filterOf({ rootID }, watcher), watcher.event, watcher.pressure)
  const held = new Held()
  let since: number | undefined
  const hear = (event: Event) => {
    // A commit that the snapshot includes may be published after it.
    if (event.seq === undefined || event.seq > (since ?? 0)) watcher.event(event)
  }
  yield* bus.listen(
    filterOf({ rootID }, watcher),
    (event) => since === undefined ? held.take(event) : hear(event),
    watcher.pressure
  )
  let snapshot = yield* snapshotOf(rootID)
  while (held.isOverflown) {
    held.clear()
    snapshot = yield* snapshotOf(rootID)
  }
  since = snapshot.seq
  show(snapshot)
  for (const event of held.events) hear(event)
  held.clear()
})

/**
 * Creates a session and watches its tree from its first event. Events of other new trees are held until it is known
 * which tree is its own.
 */
export const watchMade = Effect.fnUntraced(function*<E, R>(
  making: Effect.Effect<SessionInfo, E, R>,
  watcher: Omit<Watcher, "snapshot">
) {
  const bus = yield* Bus
  const begun = new Map<SessionID, Array<Event>>()
  let rootID: SessionID | undefined
  yield* bus.listen(filterOf({ all: true }, watcher), (event) => {
    if (event.rootID === rootID) return watcher.event(event)
    if (rootID !== undefined) return
    if (event.type === "session.created" && event.depth === 0) begun.set(event.rootID, [])
    begun.get(event.rootID)?.push(event)
  }, watcher.pressure)
  const made = yield* making
  rootID = made.rootID
  for (const event of begun.get(rootID) ?? []) watcher.event(event)
  begun.clear()
  return made
})
