/** Owns the order of changes: they are stored first, and only then published on the bus. */
import type { Event, EventProperties, EventType } from "@skein/domain/Event"
import { Ids } from "@skein/domain/Id"
import type { ToolPart } from "@skein/domain/Part"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Bus } from "./Bus.ts"
import { Failpoints } from "./Failpoints.ts"
import { makePublishingOrder } from "./internal/publishingOrder.ts"
import { eventsOf } from "./internal/rowEvents.ts"
import { SessionStorage } from "./SessionStorage.ts"
import type { StorageError } from "./StorageError.ts"
import type { Places } from "./StorageFilter.ts"
import type { Entry, EventSource, Fact, FactType, PassingType, Write } from "./Write.ts"

/**
 * The result of a commit: the `seq` of the last event that it stored, in the tree of that event; undefined if it stored
 * none.
 */
export interface Committed {
  readonly seq: number | undefined
}

/** The only way to store and to publish. */
export class Journal extends Context.Tag("@skein/core/Journal")<Journal, {
  /** Creates an event that no row implies, for a commit. */
  readonly fact: <T extends FactType>(source: EventSource, type: T, properties: EventProperties<T>) => Fact
  /**
   * Stores entries in one commit, then publishes their events in the same order. `source` is the session that messages,
   * parts and todos belong to. Waits while a listener has no room, and ends when everything is durable. A failed commit
   * publishes nothing. Commits of one tree publish in the order in which they were stored.
   */
  readonly commit: (entries: ReadonlyArray<Entry>, source?: EventSource) => Effect.Effect<Committed, StorageError>
  /** Publishes an ephemeral event. */
  readonly tell: <T extends PassingType>(
    source: EventSource,
    type: T,
    properties: EventProperties<T>,
    now: number
  ) => void
  /** Publishes the progress of a running call. Only the end of the call is stored. */
  readonly report: (source: EventSource, part: ToolPart, now: number) => void
}>() {
  /** A journal over storage and bus. */
  static readonly layer: Layer.Layer<Journal, never, SessionStorage | Bus | Ids> = Layer.effect(
    Journal,
    Effect.gen(function*() {
      const storage = yield* SessionStorage
      const bus = yield* Bus
      const ids = yield* Ids
      const points = yield* Failpoints
      const takePlace = makePublishingOrder()

      const eventOf = (source: EventSource, type: EventType, properties: unknown, now: number) =>
        ({
          id: ids.unsafeMake("evt", now),
          type,
          timestamp: now,
          sessionID: source.id,
          rootID: source.rootID,
          ...(source.parentID === undefined ? {} : { parentID: source.parentID }),
          depth: source.depth,
          properties
        }) as Event

      const commit = (entries: ReadonlyArray<Entry>, source?: EventSource) => {
        const storing = Effect.clockWith((clock) => {
          const now = clock.unsafeCurrentTimeMillis()
          const events = eventsOf(entries, source).map((each) =>
            each._tag === "Fact"
              ? each.event ??= eventOf(each.source, each.type, each.properties, now)
              : eventOf(each.source, each.type, each.properties, now)
          )
          const writes = [...entries.flatMap(writeOf), ...events.map((event): Write => ({ _tag: "Event", event }))]
          const publish = (places: Places): Committed => {
            points.hit("result_committed_before_publish")
            let last: number | undefined
            for (const event of events) {
              const seq = places.get(event.id)
              last = seq ?? last
              bus.publish(seq === undefined ? event : { ...event, seq })
            }
            points.hit("published")
            return { seq: last }
          }
          if (events.length === 0) return Effect.map(storage.commit(writes), publish)
          // Fibers of different schedulers continue in any order, so the storage says which commit was first.
          let place: ReturnType<typeof takePlace> | undefined
          const onStored = () => void (place ??= takePlace(new Set(events.map(({ rootID }) => rootID))))
          return Effect.ensuring(
            Effect.flatMap(storage.commit(writes, onStored), (places) =>
              place?.turn === undefined
                ? Effect.sync(() => publish(places))
                : Effect.map(place.turn, () => publish(places))),
            Effect.sync(() => place?.leave())
          )
        })
        // A requested commit is stored even if the caller is interrupted meanwhile. Then it must be published as well.
        return Effect.uninterruptible(bus.whenRoom(storing))
      }

      return {
        fact: (source, type, properties) => ({ _tag: "Fact", source, type, properties, event: undefined }),
        commit,
        tell: (source, type, properties, now) => bus.publish(eventOf(source, type, properties, now)),
        report: (source, part, now) => bus.publish(eventOf(source, "message.part.updated", { part }, now))
      }
    })
  )
}

const writeOf = (entry: Entry): ReadonlyArray<Write> => {
  switch (entry._tag) {
    case "Fact":
      return []
    case "DeleteSession":
      return [{ _tag: "DeleteSession", id: entry.info.id }]
    default:
      return [entry]
  }
}
