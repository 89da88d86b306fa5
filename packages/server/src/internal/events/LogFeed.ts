/** Owns the events of all trees for all clients that watch them: in the order of the log, each encoded once. */
import { Bus } from "@skein/core/Bus"
import { FairSemaphore } from "@skein/core/Fibers"
import { SessionStorage } from "@skein/core/SessionStorage"
import { isOutage } from "@skein/core/StorageError"
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { Audience } from "./EventClient.ts"
import { cursorOf, frameOf, resetFrame } from "./frames.ts"
import { readStored } from "./readStored.ts"
import { makeElsewhere, type Statuses } from "./statuses.ts"
import type { TreeFeed } from "./TreeFeed.ts"

/** How many unstored events may wait for an earlier stored one. The oldest are dropped. */
const mostPassing = 4_096

/** The unstored events that arrive while stored ones are read. A stored part replaces its earlier deltas. */
const withoutDeltasOf = (passing: ReadonlyArray<Event>, event: Event): Array<Event> =>
  event.type !== "message.part.updated" ?
    [...passing] :
    passing.filter((each) => each.type !== "message.part.delta" || each.properties.partID !== event.properties.part.id)

/**
 * Makes the feed of all trees. The bus signals that something was stored, and the log gives the order: commits of
 * different trees share no number that would show which one is missing.
 */
export const makeLogFeed: Effect.Effect<TreeFeed, never, Bus | Scope.Scope | Statuses> = Effect.gen(
  function*() {
    const bus = yield* Bus
    const storage = yield* SessionStorage
    const audience = new Audience()
    const stored = yield* Effect.makeLatch(false)
    const turn = new FairSemaphore(1)
    let passing: Array<Event> = []
    let position: number | undefined

    const send = (event: Event, place?: string) => {
      if (!audience.isEmpty) audience.tell(frameOf(event, place), place)
    }

    const statuses = yield* Effect.context<Statuses>()
    const elsewhere = yield* makeElsewhere(send)
    const look = (rootIDs: Iterable<SessionID>) => Effect.provide(elsewhere.look(rootIDs), statuses)

    yield* bus.listen({ all: true }, (event) => {
      if (event.seq === undefined) {
        passing.push(event)
        if (passing.length > mostPassing) passing.shift()
      } else passing = withoutDeltasOf(passing, event)
      stored.unsafeOpen()
    })

    const readRows = turn.withPermit(Effect.gen(function*() {
      while (position !== undefined) {
        const { isLast, rows } = yield* readStored(storage, { after: position })
        for (const { event, position: place, seq } of rows) {
          position = place
          if (event === undefined) audience.tell(resetFrame("unreadable", cursorOf(place)), cursorOf(place))
          else {
            send({ ...event, seq }, cursorOf(place))
            elsewhere.see(event)
          }
        }
        yield* look(new Set(rows.flatMap(({ event }) => event === undefined ? [] : [event.rootID])))
        if (isLast) return
      }
    }))

    const flush = Effect.gen(function*() {
      yield* stored.await
      stored.unsafeClose()
      yield* readRows
      for (const event of passing.splice(0)) send(event)
    }).pipe(
      Effect.catchAll((error) =>
        // That the storage is away is logged once, and not for each tree.
        Effect.zipRight(
          isOutage(error) ? Effect.void : Effect.logWarning("Events could not be read", error.message),
          Effect.sleep(1_000)
        )
      ),
      Effect.forever
    )
    const ready = turn.withPermit(Effect.gen(function*() {
      if (position !== undefined) return
      const { last } = yield* storage.eventRange()
      yield* look(yield* storage.unfinished)
      position = last
    }))

    yield* Effect.forkScoped(flush)

    return {
      ready,
      position: () => position ?? 0,
      join: (client) => audience.join(client),
      leave: (client) => audience.leave(client),
      catchUp: Effect.zipRight(readRows, Effect.provide(elsewhere.review, statuses))
    }
  }
)
