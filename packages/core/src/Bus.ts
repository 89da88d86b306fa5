/** Owns who receives which events: passes each event to those who watch its session, its tree, or everything. */
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { none as noFiber } from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** A subscriber read too slowly. It missed events from here on, and can catch up from the event log. */
export class BusOverflow extends Schema.TaggedError<BusOverflow>()("BusOverflow", {
  capacity: Schema.Number,
  message: Schema.String
}) {}

/** Which events to receive: of one session, of one tree, or all. `deltas: false` leaves out pieces of growing text. */
export type BusFilter =
  & ({ readonly sessionID: SessionID } | { readonly rootID: SessionID } | { readonly all: true })
  & { readonly deltas?: false }

/** A listener. It is called at once for each event, in order. It must be fast and must not throw. */
export type Listener = (event: Event) => void

/** How a listener that forwards events to a slower reader slows down the publishers. */
export interface Pressure {
  /** Whether the reader lags further behind than the listener wants. */
  readonly isFull: () => boolean
  /** Waits until there is room again. */
  readonly relieved: Effect.Effect<void>
}

interface Listening {
  readonly listener: Listener
  readonly deltas: boolean
}

const tell = (listeners: ReadonlySet<Listening> | undefined, event: Event): void => {
  if (listeners === undefined) return
  const isDelta = event.type === "message.part.delta"
  for (const { deltas, listener } of listeners) {
    if (deltas || !isDelta) listener(event)
  }
}

const receivesDeltas = (listeners: ReadonlySet<Listening> | undefined): boolean => {
  for (const { deltas } of listeners ?? []) {
    if (deltas) return true
  }
  return false
}

/**
 * The bus. Publishing never waits. A slow subscriber loses the connection, never an event in the middle. A listener
 * with `pressure` slows down publishers that call `whenRoom`.
 */
export class Bus extends Context.Tag("@skein/core/Bus")<Bus, {
  /** Passes an event to everyone who listens for it. */
  readonly publish: (event: Event) => void
  /** Whether anyone would receive a delta of this session: if not, there is no need to create it. */
  readonly hasDeltaListeners: (session: { readonly sessionID: SessionID; readonly rootID: SessionID }) => boolean
  /** Calls a function for each event until the scope closes. */
  readonly listen: (
    filter: BusFilter,
    listener: Listener,
    pressure?: Pressure
  ) => Effect.Effect<void, never, Scope.Scope>
  /**
   * Runs an effect that publishes events: immediately, or, while a listener is full, in order of arrival once it has
   * room again.
   */
  readonly whenRoom: <A, E, R>(publishing: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Events from now on. At most `capacity` (4,096) are buffered; one more ends the stream with `BusOverflow`. */
  readonly subscribe: (
    filter: BusFilter,
    options?: { readonly capacity?: number }
  ) => Effect.Effect<Stream.Stream<Event, BusOverflow>, never, Scope.Scope>
}>() {
  /** A bus inside this process. */
  static readonly layer: Layer.Layer<Bus> = Layer.sync(Bus, () => {
    const { add, hasDeltaListeners, publish } = makeListeners()
    const { exert, whenRoom } = makePressures()

    const listen = (filter: BusFilter, listener: Listener, pressure?: Pressure) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.sync(() => {
            const relieve = pressure === undefined ? undefined : exert(pressure)
            const remove = add(filter, listener)
            return () => {
              remove()
              relieve?.()
            }
          }),
          (remove) => Effect.sync(remove)
        )
      )

    const subscribe = Effect.fn("Bus.subscribe")(function*(
      filter: BusFilter,
      options?: { readonly capacity?: number }
    ) {
      const capacity = options?.capacity ?? 4_096
      // The extra place is for the overflow notice itself.
      const queue = yield* Effect.acquireRelease(Queue.bounded<Event | BusOverflow>(capacity + 1), Queue.shutdown)
      let overflown = false
      yield* listen(filter, (event) => {
        if (overflown) return
        overflown = Option.getOrElse(queue.unsafeSize(), () => 0) >= capacity
        queue.unsafeOffer(overflown ? overflow(capacity) : event)
      })
      return Stream.mapEffect(
        Stream.fromQueue(queue),
        (item) => item instanceof BusOverflow ? Effect.fail(item) : Effect.succeed(item)
      )
    })

    return {
      publish,
      hasDeltaListeners,
      listen,
      whenRoom,
      subscribe
    }
  })
}

/** The listeners by their filter. */
const makeListeners = () => {
  const everything = new Set<Listening>()
  const bySession = new Map<SessionID, Set<Listening>>()
  const byRoot = new Map<SessionID, Set<Listening>>()

  const add = (filter: BusFilter, listener: Listener): () => void => {
    const listening: Listening = { listener, deltas: filter.deltas ?? true }
    if ("all" in filter) {
      everything.add(listening)
      return () => everything.delete(listening)
    }
    const [index, key] = "sessionID" in filter ? [bySession, filter.sessionID] : [byRoot, filter.rootID]
    const listeners = index.get(key) ?? new Set()
    index.set(key, listeners.add(listening))
    return () => {
      listeners.delete(listening)
      if (listeners.size === 0) index.delete(key)
    }
  }

  const publish = (event: Event) => {
    tell(everything, event)
    tell(bySession.get(event.sessionID), event)
    tell(byRoot.get(event.rootID), event)
  }

  const hasDeltaListeners = ({ rootID, sessionID }: { readonly rootID: SessionID; readonly sessionID: SessionID }) =>
    receivesDeltas(everything) || receivesDeltas(bySession.get(sessionID)) || receivesDeltas(byRoot.get(rootID))

  return { add, publish, hasDeltaListeners }
}

/** Listeners with back pressure, for which publishing waits. */
const makePressures = () => {
  const pressures = new Set<Pressure>()
  /**
   * Waiting publishers, oldest first; only the first may continue. Waking all of them together would publish everything
   * that waited at once, and at a semaphore a newcomer could overtake them.
   */
  const line: Array<Deferred.Deferred<void>> = []

  const exert = (pressure: Pressure): () => void => {
    pressures.add(pressure)
    return () => pressures.delete(pressure)
  }

  const findFull = () => {
    for (const pressure of pressures) if (pressure.isFull()) return pressure
    return undefined
  }

  const room: Effect.Effect<void> = Effect.suspend(() => {
    const full = findFull()
    return full === undefined ? Effect.void : Effect.zipRight(full.relieved, room)
  })

  const begin = (): void => {
    const [first] = line
    if (first !== undefined) Deferred.unsafeDone(first, Exit.void)
  }

  const inTurn = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        const turn = Deferred.unsafeMake<void>(noFiber)
        if (line.push(turn) === 1) begin()
        return turn
      }),
      (turn) => Effect.zipRight(Deferred.await(turn), effect),
      (turn) =>
        Effect.sync(() => {
          const at = line.indexOf(turn)
          line.splice(at, 1)
          if (at === 0) begin()
        })
    )

  const whenRoom = <A, E, R>(publishing: Effect.Effect<A, E, R>) =>
    Effect.suspend(() =>
      line.length === 0 && findFull() === undefined ? publishing : inTurn(Effect.zipRight(room, publishing))
    )

  return { exert, whenRoom }
}

const overflow = (capacity: number) =>
  new BusOverflow({
    capacity,
    message: `More than ${capacity} events waited to be read. Read faster, or subscribe with a greater capacity.`
  })
