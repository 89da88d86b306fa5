/** Owns the feeds: one for each watched tree, one for all trees, and the heartbeat of both. */
import type { Bus } from "@skein/core/Bus"
import type { StorageError } from "@skein/core/StorageError"
import { StorageHealth, type StorageTrouble } from "@skein/core/StorageHealth"
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RcMap from "effect/RcMap"
import type * as Scope from "effect/Scope"
import type { EventClient } from "./EventClient.ts"
import { heartbeat } from "./frames.ts"
import { makeLogFeed } from "./LogFeed.ts"
import type { Statuses } from "./statuses.ts"
import { makeTreeFeed, type TreeFeed } from "./TreeFeed.ts"

/** How often a heartbeat is sent, in milliseconds. Clients take it for the sign that the server is not frozen. */
const beat = 2_000

/** How often to look for events of other servers of a cluster, in milliseconds. */
const sharedPace = 500

/** How often to look for events of other programs that use the same database, in milliseconds. */
const alonePace = 1_000

const everything = "all"

/** Makes them; what other processes have stored is looked for at this pace, in milliseconds. */
const make = (pace: number) =>
  Effect.gen(function*() {
    const clients = new Set<EventClient>()
    const open = new Set<TreeFeed>()
    const watched = (feed: TreeFeed) =>
      Effect.as(
        Effect.acquireRelease(
          Effect.sync(() => open.add(feed)),
          () => Effect.sync(() => open.delete(feed))
        ),
        {
          ...feed,
          join: (client: EventClient) => {
            clients.add(client)
            feed.join(client)
          },
          leave: (client: EventClient) => {
            clients.delete(client)
            feed.leave(client)
          }
        } satisfies TreeFeed
      )
    const trees = yield* RcMap.make({
      lookup: (rootID: SessionID) => Effect.flatMap(makeTreeFeed(rootID), watched)
    })
    const all = yield* RcMap.make({ lookup: () => Effect.flatMap(makeLogFeed, watched) })

    const health = yield* StorageHealth
    const tell = (trouble: StorageTrouble | undefined) => {
      const frame = heartbeat(trouble)
      for (const client of clients) client.send(frame)
    }
    const pulse = Effect.sync(() => tell(health.trouble()))
    yield* Effect.acquireRelease(Effect.sync(() => health.onChange(tell)), (forget) => Effect.sync(forget))
    // Other processes may store events of a tree that is watched here.
    const catchUp = Effect.catchAll(
      Effect.forEach(open, (feed) => feed.catchUp, { discard: true }),
      (error) => Effect.logWarning("Events could not be read", error.message)
    )
    // The heart beats also while the database does not answer.
    yield* Effect.forkScoped(Effect.forever(Effect.delay(pulse, beat)))
    yield* Effect.forkScoped(Effect.forever(Effect.delay(catchUp, pace)))

    return {
      // What can fail is not in the lookups: they would keep the failure.
      ofTree: (rootID: SessionID) => Effect.tap(RcMap.get(trees, rootID), ({ ready }) => ready),
      ofAll: Effect.tap(RcMap.get(all, everything), ({ ready }) => ready),
      close: Effect.sync(() => {
        for (const client of clients) client.end()
      })
    }
  })

/** The feeds. */
export class Feeds extends Context.Tag("@skein/server/internal/events/Feeds")<Feeds, {
  /** The events of a tree, while the scope is open. */
  readonly ofTree: (rootID: SessionID) => Effect.Effect<TreeFeed, StorageError, Scope.Scope>
  /** The events of all trees, while the scope is open. */
  readonly ofAll: Effect.Effect<TreeFeed, StorageError, Scope.Scope>
  /** Ends all streams. */
  readonly close: Effect.Effect<void>
}>() {
  /** Feeds that end with the layer. */
  static readonly layer: Layer.Layer<Feeds, never, Bus | Statuses | StorageHealth> = Layer.scoped(
    Feeds,
    make(alonePace)
  )

  /** Feeds of trees in which other servers work as well: what those store is looked for often. */
  static readonly layerShared: Layer.Layer<Feeds, never, Bus | Statuses | StorageHealth> = Layer.scoped(
    Feeds,
    make(sharedPace)
  )
}
