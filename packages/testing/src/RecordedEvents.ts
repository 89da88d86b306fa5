/** Records the events of the bus for a test, from the moment on at which it subscribes. */
import { Bus, type BusFilter } from "@skein/core/Bus"
import type { Event, EventType } from "@skein/domain/Event"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { none as noFiber } from "effect/FiberId"
import type * as Scope from "effect/Scope"

/** Recorded events, and a way to wait for more. */
export interface RecordedEvents {
  /** All events so far, in the order of publishing. */
  readonly all: ReadonlyArray<Event>
  /** The events of one type so far. */
  readonly of: <T extends EventType>(type: T) => ReadonlyArray<Event<T>>
  /** Waits for the first matching event of a type, recorded already or still to come. */
  readonly first: <T extends EventType>(type: T, fits?: (event: Event<T>) => boolean) => Effect.Effect<Event<T>>
}

interface Waiting {
  readonly fits: (event: Event) => boolean
  readonly found: Deferred.Deferred<Event>
}

/** Records events until the scope closes: all events, unless a filter is given. */
export const record = (filter: BusFilter = { all: true }): Effect.Effect<RecordedEvents, never, Bus | Scope.Scope> =>
  Effect.gen(function*() {
    const bus = yield* Bus
    const all: Array<Event> = []
    const waiting = new Set<Waiting>()
    yield* bus.listen(filter, (event) => {
      all.push(event)
      for (const each of waiting) {
        if (!each.fits(event)) continue
        waiting.delete(each)
        Deferred.unsafeDone(each.found, Effect.succeed(event))
      }
    })

    const isA = <T extends EventType>(type: T) => (event: Event): event is Event & Event<T> => event.type === type

    const first = <T extends EventType>(type: T, fits: (event: Event<T>) => boolean = () => true) => {
      const isIt = (event: Event) => isA(type)(event) && fits(event)
      return Effect.suspend(() => {
        const found = Deferred.unsafeMake<Event>(noFiber)
        const known = all.find(isIt)
        if (known !== undefined) return Effect.succeed(known)
        const mine: Waiting = { fits: isIt, found }
        waiting.add(mine)
        return Effect.ensuring(Deferred.await(found), Effect.sync(() => waiting.delete(mine)))
      }) as Effect.Effect<Event<T>>
    }

    return { all, first, of: <T extends EventType>(type: T): ReadonlyArray<Event<T>> => all.filter(isA(type)) }
  })
