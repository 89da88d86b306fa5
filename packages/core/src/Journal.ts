/** Owns the order of things: what changed is stored first, and told on the bus only then. */
import { ephemeral, type Event, type EventProperties, type EventType } from "@skein/domain/Event"
import { Ids } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Bus } from "./Bus.ts"
import { Failpoints } from "./Failpoints.ts"
import { SessionStorage, type Write } from "./SessionStorage.ts"
import type { StorageError } from "./StorageError.ts"

/** The session that an event is of. */
export type EventSource = Pick<SessionInfo, "id" | "rootID" | "parentID" | "depth">

/** The one way to store and to tell. */
export class Journal extends Context.Tag("@skein/core/Journal")<Journal, {
  /** Makes an event of a session, to be committed or told. */
  readonly event: <T extends EventType>(
    source: EventSource,
    type: T,
    properties: EventProperties<T>,
    now: number
  ) => Event
  /** Stores changes and events together, then tells the events. Waits while a listener has no room; ends when all is durable. */
  readonly commit: (writes: ReadonlyArray<Write>, events: ReadonlyArray<Event>) => Effect.Effect<void, StorageError>
  /** Tells an event that is not kept. */
  readonly tell: (event: Event) => void
}>() {
  /** A journal over storage and bus. */
  static readonly layer: Layer.Layer<Journal, never, SessionStorage | Bus | Ids> = Layer.effect(
    Journal,
    Effect.gen(function*() {
      const storage = yield* SessionStorage
      const bus = yield* Bus
      const ids = yield* Ids
      const points = yield* Failpoints

      const event = <T extends EventType>(source: EventSource, type: T, properties: EventProperties<T>, now: number) =>
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

      const commit = (writes: ReadonlyArray<Write>, events: ReadonlyArray<Event>) => {
        const kept = events.filter((each) => !ephemeral.has(each.type))
        const all = [...writes, ...kept.map((each): Write => ({ _tag: "Event", event: each }))]
        // What was asked for is stored even if the asker is interrupted meanwhile; then it must be told as well.
        return Effect.uninterruptible(
          bus.whenRoom(Effect.tap(storage.commit(all), () => {
            points.hit("result_committed_before_publish")
            for (const each of events) bus.publish(each)
            points.hit("published")
          }))
        )
      }

      return { event, commit, tell: bus.publish }
    })
  )
}
