/** The tests that every implementation of Bus must pass. */
import { describe, expect, it } from "@effect/vitest"
import { Bus, type BusFilter } from "@skein/core/Bus"
import type { Event } from "@skein/domain/Event"
import type { EventID, MessageID, PartID, SessionID } from "@skein/domain/Id"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

const session = (name: string) => `ses_${name}` as SessionID

/** The n-th event of a test, of a session. */
const event = (n: number, of: { readonly session: string; readonly root?: string }): Event => ({
  id: `evt_${String(n).padStart(6, "0")}` as EventID,
  type: "session.idle",
  timestamp: n,
  sessionID: session(of.session),
  rootID: session(of.root ?? of.session),
  depth: of.root === undefined ? 0 : 1,
  properties: {}
})

const numbers = (events: Iterable<Event>): ReadonlyArray<number> => Array.from(events, (each) => each.timestamp)

const receivedBy = Effect.fnUntraced(function*(filter: BusFilter) {
  const bus = yield* Bus
  const received: Array<Event> = []
  yield* bus.listen(filter, (each) => received.push(each))
  return received
})

/** What listeners receive, and in which order. */
const listeners = (layer: Layer.Layer<Bus>): void => {
  it.scoped("sends each listener what it requested: a session, a tree, or everything", () =>
    Effect.gen(function*() {
      const bus = yield* Bus
      const [one, tree, all] = yield* Effect.all([
        receivedBy({ sessionID: session("child") }),
        receivedBy({ rootID: session("root") }),
        receivedBy({ all: true })
      ])
      bus.publish(event(1, { session: "root" }))
      bus.publish(event(2, { session: "child", root: "root" }))
      bus.publish(event(3, { session: "other" }))
      bus.publish(event(4, { session: "grandchild", root: "root" }))
      expect([one, tree, all].map(numbers)).toEqual([[2], [1, 2, 4], [1, 2, 3, 4]])
    }).pipe(Effect.provide(layer)))

  it.scoped("has called every listener when publish returns, in the order of publishing", () =>
    Effect.gen(function*() {
      const bus = yield* Bus
      const received = yield* receivedBy({ all: true })
      for (let n = 1; n <= 1_000; n++) {
        bus.publish(event(n, { session: `s${n % 7}` }))
        if (received.length !== n) expect(received).toHaveLength(n)
      }
      expect(numbers(received)).toEqual(Array.from({ length: 1_000 }, (_, i) => i + 1))
    }).pipe(Effect.provide(layer)))

  it.effect("calls no listener whose scope is closed, and continues for the others", () =>
    Effect.scoped(Effect.gen(function*() {
      const bus = yield* Bus
      const scope = yield* Scope.make()
      const gone = yield* Scope.extend(receivedBy({ sessionID: session("s") }), scope)
      const stays = yield* receivedBy({ sessionID: session("s") })
      bus.publish(event(1, { session: "s" }))
      yield* Scope.close(scope, Exit.void)
      bus.publish(event(2, { session: "s" }))
      expect([gone, stays].map(numbers)).toEqual([[1], [1, 2]])
    })).pipe(Effect.provide(layer)))

  it.effect("says whether anyone would receive a delta", () =>
    Effect.gen(function*() {
      const bus = yield* Bus
      const of = { sessionID: session("child"), rootID: session("root") }
      expect(bus.hasDeltaListeners(of)).toBe(false)
      for (const filter of [{ sessionID: of.sessionID }, { rootID: of.rootID }, { all: true as const }]) {
        yield* Effect.scoped(Effect.map(receivedBy(filter), () => expect(bus.hasDeltaListeners(of)).toBe(true)))
        expect(bus.hasDeltaListeners(of)).toBe(false)
      }
      yield* Effect.scoped(
        Effect.map(receivedBy({ sessionID: session("root") }), () => expect(bus.hasDeltaListeners(of)).toBe(false))
      )
    }).pipe(Effect.provide(layer)))
}

/** Who receives deltas, and which listeners the bus waits for. */
const deltas = (layer: Layer.Layer<Bus>): void => {
  it.scoped("leaves out deltas for listeners without them, and says whether anyone receives them", () =>
    Effect.gen(function*() {
      const bus = yield* Bus
      const of = { sessionID: session("s"), rootID: session("s") }
      const delta: Event = {
        ...event(1, { session: "s" }),
        type: "message.part.delta",
        properties: { messageID: "msg_1" as MessageID, partID: "prt_1" as PartID, field: "text", delta: "a" }
      }
      const without = yield* Effect.all([
        receivedBy({ sessionID: of.sessionID, deltas: false }),
        receivedBy({ rootID: of.rootID, deltas: false }),
        receivedBy({ all: true, deltas: false })
      ])
      expect(bus.hasDeltaListeners(of)).toBe(false)
      const all = yield* receivedBy({ all: true })
      expect(bus.hasDeltaListeners(of)).toBe(true)
      bus.publish(delta)
      bus.publish(event(2, { session: "s" }))
      expect(without.map(numbers)).toEqual([[2], [2], [2]])
      expect(numbers(all)).toEqual([1, 2])
    }).pipe(Effect.provide(layer)))

  it.scoped("delays publishers while a listener is full, and then continues one after the other", () =>
    Effect.gen(function*() {
      const bus = yield* Bus
      const room = yield* Effect.makeLatch()
      const received: Array<Event> = []
      let isFull = false
      const pressure = { isFull: () => isFull, relieved: Effect.zipRight(room.await, room.close) }
      yield* bus.listen(
        { all: true },
        (each) => {
          received.push(each)
          isFull = true
        },
        pressure
      )
      const publish = (n: number) => bus.whenRoom(Effect.sync(() => bus.publish(event(n, { session: "s" }))))
      yield* publish(1)
      const waiting = yield* Effect.forkAll([2, 3].map(publish))
      const settle = Effect.repeatN(Effect.yieldNow(), 10)
      yield* settle
      expect(numbers(received)).toEqual([1])
      isFull = false
      yield* room.open
      yield* settle
      expect(numbers(received)).toEqual([1, 2])
      isFull = false
      yield* room.open
      yield* Fiber.join(waiting)
      expect(numbers(received)).toEqual([1, 2, 3])
    }).pipe(Effect.provide(layer)))

  it.scoped("lets nobody overtake waiting publishers, and skips an interrupted one", () =>
    Effect.gen(function*() {
      const bus = yield* Bus
      const room = yield* Effect.makeLatch()
      const received: Array<Event> = []
      let isFull = true
      yield* bus.listen({ all: true }, (each) => received.push(each), { isFull: () => isFull, relieved: room.await })
      const publish = (n: number) => bus.whenRoom(Effect.sync(() => bus.publish(event(n, { session: "s" }))))
      const settle = Effect.repeatN(Effect.yieldNow(), 10)
      const first = yield* Effect.fork(publish(1))
      const abandoned = yield* Effect.fork(publish(2))
      const third = yield* Effect.fork(publish(3))
      yield* settle
      yield* Fiber.interrupt(abandoned)
      isFull = false
      yield* room.open
      // There is room, but the waiting publishers have not continued yet.
      yield* publish(4)
      yield* Fiber.joinAll([first, third])
      expect(numbers(received)).toEqual([1, 3, 4])
    }).pipe(Effect.provide(layer)))
}

/** What streams emit, and when they end. */
const streams = (layer: Layer.Layer<Bus>): void => {
  it.scoped("streams the events after the subscription", () =>
    Effect.gen(function*() {
      const bus = yield* Bus
      bus.publish(event(1, { session: "s" }))
      const stream = yield* bus.subscribe({ rootID: session("s") })
      for (const n of [2, 3, 4]) bus.publish(event(n, { session: "s" }))
      bus.publish(event(5, { session: "other" }))
      expect(numbers(yield* Stream.runCollect(Stream.take(stream, 3)))).toEqual([2, 3, 4])
    }).pipe(Effect.provide(layer)))

  it.scoped("ends the stream of a slow reader after its buffered events, and blocks nobody", () =>
    Effect.gen(function*() {
      const bus = yield* Bus
      const received = yield* receivedBy({ all: true })
      const slow = yield* bus.subscribe({ all: true }, { capacity: 8 })
      const quick = yield* bus.subscribe({ all: true }, { capacity: 64 })
      for (let n = 1; n <= 20; n++) bus.publish(event(n, { session: "s" }))
      expect(received).toHaveLength(20)
      const got: Array<Event> = []
      const error = yield* Effect.flip(Stream.runForEach(slow, (each) => Effect.sync(() => got.push(each))))
      expect(error).toMatchObject({ _tag: "BusOverflow", capacity: 8 })
      expect(error.message).toContain("8 events")
      expect(numbers(got)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
      expect(Chunk.size(yield* Stream.runCollect(Stream.take(quick, 20)))).toBe(20)
    }).pipe(Effect.provide(layer)))

  it.scoped("buffers exactly its capacity of events, repeatedly", () =>
    Effect.gen(function*() {
      const bus = yield* Bus
      const stream = yield* bus.subscribe({ all: true }, { capacity: 2 })
      const pull = yield* Stream.toPull(stream)
      for (let round = 0; round < 5; round++) {
        bus.publish(event(1, { session: "s" }))
        bus.publish(event(2, { session: "s" }))
        let count = 0
        while (count < 2) count += Chunk.size(yield* pull)
      }
      const waiting = yield* Effect.fork(pull)
      yield* Effect.yieldNow()
      bus.publish(event(3, { session: "s" }))
      expect(numbers(yield* Fiber.join(waiting))).toEqual([3])
    }).pipe(Effect.provide(layer)))
}

/** Registers the tests of a bus with vitest. Every test has its own bus. */
export const busSuite = (name: string, layer: Layer.Layer<Bus>): void => {
  describe(`Bus ${name}`, () => {
    listeners(layer)
    deltas(layer)
    streams(layer)
  })
}
