import { describe, expect, it } from "@effect/vitest"
import { Config } from "@skein/core/Config"
import { Governor, type RequestGate, type Sender } from "@skein/core/Governor"
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import type { SessionID } from "@skein/domain/Id"
import { share } from "@skein/testing/Seeds"
import { simulate } from "@skein/testing/Simulation"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { send as sendAt } from "./support/governed.ts"

const governed = (requests: number, config: ConfigInfo = {}) =>
  Governor.layer.pipe(Layer.provide(Config.layer({ ...config, limits: { requests } })))

const model = (limitKey = "p/m/key", providerID = "p") => ({ limitKey, info: { providerID, modelID: "m" } })
const gateOf = (limitKey?: string, providerID?: string) =>
  Effect.map(Governor, (governor) => governor.requests(model(limitKey, providerID)))

const from = (root: string | number, more: Partial<Sender> = {}): Sender => ({
  rootID: `ses_${root}` as SessionID,
  urgent: true,
  queued: () => {},
  ...more
})

/** Requests that take 100 ms and record when they are sent. */
const makeLog = () => {
  const sent: Array<string> = []
  const times: Array<number> = []
  const open = { now: 0, most: 0 }
  const request = (name: string, takes = 100) =>
    Effect.acquireUseRelease(
      Effect.map(Clock.currentTimeMillis, (now) => {
        sent.push(name)
        times.push(now)
        open.most = Math.max(open.most, ++open.now)
      }),
      () => Effect.sleep(takes),
      () => Effect.sync(() => void open.now--)
    )
  const send = (gate: RequestGate, name: string, root: string | number = "r", more: Partial<Sender> = {}) =>
    sendAt(gate, from(root, more), request(name))
  return { sent, times, open, request, send }
}

const range = (count: number) => Array.from({ length: count }, (_, i) => i)
const still = { held: 0, waiting: 0 }

describe("the requests to a model", () => {
  it.effect("run in parallel up to the limit, exactly, for any senders", () => {
    const { open, send, sent } = makeLog()
    return Effect.gen(function*() {
      const gate = yield* gateOf()
      const all = yield* Effect.fork(
        Effect.forEach(range(60), (i) => send(gate, `${i}`, i % 3), { concurrency: "unbounded", discard: true })
      )
      yield* TestClock.adjust(0)
      expect(gate.load()).toEqual({ held: 7, waiting: 53 })
      for (const round of range(8)) {
        expect(open.now).toBe(7)
        expect(sent).toHaveLength(7 * (round + 1))
        yield* TestClock.adjust(100)
      }
      yield* TestClock.adjust(100)
      yield* Fiber.join(all)
      expect(sent).toHaveLength(60)
      expect(open).toEqual({ now: 0, most: 7 })
      expect(gate.load()).toEqual(still)
    }).pipe(Effect.provide(governed(7)))
  })

  it.effect("with their own limit wait until few enough are in flight, and are not overtaken", () => {
    const { send, sent } = makeLog()
    return Effect.gen(function*() {
      const gate = yield* gateOf()
      const all = yield* Effect.fork(Effect.all(
        [
          send(gate, "a1", "a"),
          send(gate, "a2", "a"),
          send(gate, "b1", "b", { most: 1 }),
          send(gate, "c1", "c"),
          send(gate, "c2", "c")
        ],
        { concurrency: "unbounded", discard: true }
      ))
      yield* TestClock.adjust(99)
      expect(sent).toEqual(["a1", "a2"])
      yield* TestClock.adjust(100)
      expect(sent).toEqual(["a1", "a2", "b1", "c1"])
      yield* TestClock.adjust(200)
      yield* Fiber.join(all)
      expect(gate.load()).toEqual(still)
    }).pipe(Effect.provide(governed(2)))
  })

  it.effect("of a root with one are not delayed by a root with two hundred", () => {
    const { send, sent } = makeLog()
    return Effect.gen(function*() {
      const gate = yield* gateOf()
      const many = yield* Effect.fork(
        Effect.forEach(range(200), (i) => send(gate, `a${i}`, "a"), { concurrency: "unbounded", discard: true })
      )
      yield* TestClock.adjust(50)
      yield* Effect.fork(send(gate, "b", "b"))
      yield* Effect.fork(send(gate, "c", "c"))
      yield* TestClock.adjust(300)
      expect(sent).toEqual(["a0", "a1", "b", "c"])
      yield* Fiber.interrupt(many)
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("of one root are sent in the order of arrival", () => {
    const { send, sent } = makeLog()
    return Effect.gen(function*() {
      const gate = yield* gateOf()
      const names = range(20).map((i) => `${i}`)
      const all = yield* Effect.fork(
        Effect.forEach(names, (name) => send(gate, name), { concurrency: "unbounded", discard: true })
      )
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(all)
      expect(sent).toEqual(names)
    }).pipe(Effect.provide(governed(3)))
  })

  it.effect("without a waiting caller come after all others", () => {
    const { send, sent } = makeLog()
    return Effect.gen(function*() {
      const gate = yield* gateOf()
      yield* Effect.fork(send(gate, "first"))
      yield* TestClock.adjust(0)
      yield* Effect.fork(send(gate, "title", "r", { urgent: false }))
      yield* TestClock.adjust(0)
      yield* Effect.fork(send(gate, "turn"))
      yield* TestClock.adjust(0)
      let place = 0
      const queued = (position: number) => void (place = position)
      yield* Effect.fork(send(gate, "second title", "r", { urgent: false, queued }))
      yield* TestClock.adjust("1 second")
      expect(sent).toEqual(["first", "turn", "title", "second title"])
      expect(place).toBe(3)
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("share a limit if they share a key, and only then", () => {
    const { open, send } = makeLog()
    return Effect.gen(function*() {
      for (const key of ["one", "one", "two", "two"]) yield* Effect.fork(send(yield* gateOf(key), key))
      yield* TestClock.adjust(0)
      expect(open.now).toBe(2)
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("use the limit of their provider if it has one", () => {
    const { open, send } = makeLog()
    return Effect.gen(function*() {
      const gate = yield* gateOf("k", "small")
      for (const i of range(5)) yield* Effect.fork(send(gate, `${i}`))
      yield* TestClock.adjust(0)
      expect(open.now).toBe(2)
    }).pipe(Effect.provide(governed(4, { provider: { small: { max_requests: 2 }, other: { max_requests: 1 } } })))
  })

  it.effect("that wait learn their place among the roots, and others learn nothing", () => {
    const { send, sent } = makeLog()
    const places: Record<string, number> = {}
    return Effect.gen(function*() {
      const gate = yield* gateOf()
      const names = ["a0", "a1", "a2", "a3", "b1", "b2", "c1"]
      for (const name of names) {
        const queued = (place: number) => void (places[name] = place)
        yield* Effect.fork(send(gate, name, name[0], { queued }))
        yield* TestClock.adjust(0)
      }
      expect(places).toEqual({ a1: 1, a2: 2, a3: 3, b1: 2, b2: 4, c1: 3 })
      yield* TestClock.adjust("1 second")
      expect(sent).toEqual(["a0", "a1", "b1", "c1", "a2", "b2", "a3"])
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("leave no trace when they are interrupted, while they wait or when they are granted", () => {
    const { send, sent } = makeLog()
    return Effect.gen(function*() {
      const gate = yield* gateOf()
      const first = yield* Effect.fork(send(gate, "first"))
      yield* TestClock.adjust(0)
      const [second, third] = [yield* Effect.fork(send(gate, "second")), yield* Effect.fork(send(gate, "third"))]
      yield* Effect.fork(send(gate, "fourth"))
      yield* TestClock.adjust(0)
      yield* Fiber.interrupt(second)
      expect(gate.load()).toEqual({ held: 1, waiting: 2 })
      // The end of the first grants the third, which does not use its grant.
      yield* Effect.all([Fiber.interruptFork(first), Fiber.interruptFork(third)])
      yield* TestClock.adjust("1 second")
      expect(sent).toEqual(["first", "fourth"])
      expect(gate.load()).toEqual(still)
    }).pipe(Effect.provide(governed(1)))
  })
})

describe("a pause", () => {
  it.effect("delays all requests, and ends for one after the other", () => {
    const { open, request, send, sent, times } = makeLog()
    return Effect.gen(function*() {
      const gate = yield* gateOf()
      const under = yield* Effect.fork(send(gate, "under way"))
      yield* TestClock.adjust(50)
      gate.hold(10_000)
      const names = range(100).map((i) => `${i}`)
      const all = yield* Effect.fork(
        Effect.forEach(names, (name) => sendAt(gate, from("r"), request(name, 3_000)), {
          concurrency: "unbounded",
          discard: true
        })
      )
      yield* TestClock.adjust(9_999)
      yield* Fiber.join(under)
      expect(sent).toEqual(["under way"])
      expect(gate.load()).toEqual({ held: 0, waiting: 100 })
      expect(gate.closedFor()).toBe(1)
      yield* TestClock.adjust(1)
      expect(open.now).toBe(1)
      yield* Effect.fork(send(gate, "late"))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(all)
      expect(sent).toEqual(["under way", ...names, "late"])
      expect(open).toEqual({ now: 0, most: 20 })
      expect(new Set(times.slice(1, 21)).size, "the first twenty are not sent together").toBeGreaterThan(10)
      expect(times.at(20), "but soon").toBeLessThanOrEqual(12_100)
      expect(gate.load()).toEqual(still)
    }).pipe(Effect.provide(governed(20)))
  })

  it.effect("is extended by a longer one, and not shortened by a shorter one", () => {
    const { send, times } = makeLog()
    return Effect.gen(function*() {
      const gate = yield* gateOf()
      gate.hold(1_000)
      yield* Effect.fork(send(gate, "a"))
      yield* TestClock.adjust(500)
      gate.hold(5_000)
      gate.hold(10)
      expect(gate.closedFor()).toBe(5_000)
      yield* TestClock.adjust("1 minute")
      expect(times).toEqual([5_500])
      gate.hold(0)
      expect(gate.closedFor()).toBe(0)
    }).pipe(Effect.provide(governed(20)))
  })

  it.effect("that begins while others return stops them again", () => {
    const { request, send, sent } = makeLog()
    return Effect.gen(function*() {
      const gate = yield* gateOf()
      gate.hold(1_000)
      const fails = Effect.zipRight(request("probe", 1), Effect.sync(() => gate.hold(1_000)))
      yield* Effect.fork(sendAt(gate, from("r"), fails))
      yield* TestClock.adjust(0)
      for (const i of range(5)) yield* Effect.fork(send(gate, `${i}`))
      yield* TestClock.adjust(2_000)
      expect(sent).toEqual(["probe"])
      yield* TestClock.adjust("1 minute")
      expect(sent).toHaveLength(6)
    }).pipe(Effect.provide(governed(1)))
  })

  it.effect("that ends as soon as it begins does not make the next one endless", () => {
    const { send, sent } = makeLog()
    return Effect.gen(function*() {
      const clock = yield* Effect.clock
      let looks = 0n
      // Each read of this clock advances it by a millisecond, so such a pause has ended before its end is awaited.
      const slow: Clock.Clock = Object.assign(Object.create(clock), {
        unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos() + looks++ * 1_000_000n
      })
      yield* Effect.gen(function*() {
        const gate = yield* gateOf()
        gate.hold(1)
        gate.hold(1_000)
        yield* Effect.fork(send(gate, "next"))
        yield* TestClock.adjust("1 minute")
        expect(sent).toEqual(["next"])
      }).pipe(Effect.provide(governed(1)), Effect.withClock(slow))
    })
  })

  it.effect("does not affect later requests, or requests to another model", () => {
    const { send, sent } = makeLog()
    const positions: Array<number> = []
    return Effect.gen(function*() {
      const gate = yield* gateOf()
      gate.hold(1_000)
      yield* Effect.fork(send(yield* gateOf("other"), "other"))
      yield* TestClock.adjust(0)
      expect(sent).toEqual(["other"])
      const later = Effect.zipRight(
        Effect.sleep(1_000),
        send(gate, "later", "r", { queued: (place) => void positions.push(place) })
      )
      yield* Effect.fork(later)
      yield* TestClock.adjust(1_000)
      expect(sent).toEqual(["other", "later"])
      expect(positions).toEqual([])
    }).pipe(Effect.provide(governed(1)))
  })
})

describe("any requests under any limit, with pauses and interruptions", () => {
  it("never exceed the limit, are never sent during a pause, all end, and leave nothing behind", () => {
    const ms = FastCheck.nat({ max: 3_000 })
    const scenario = FastCheck.record({
      seed: FastCheck.nat(),
      limit: FastCheck.integer({ min: 1, max: 4 }),
      requests: FastCheck.array(
        FastCheck.record({
          root: FastCheck.nat({ max: 2 }),
          urgent: FastCheck.boolean(),
          comes: ms,
          takes: FastCheck.nat({ max: 500 }),
          /** After how long its caller gives up. */
          timeout: FastCheck.option(ms, { nil: undefined }),
          /** The length of the pause that it starts. */
          pauses: FastCheck.option(ms, { nil: undefined, freq: 4 })
        }),
        { minLength: 1, maxLength: 25 }
      )
    })
    FastCheck.assert(
      FastCheck.property(scenario, ({ limit, requests, seed }) => {
        let open = 0
        let pause = { from: 0, to: 0 }
        let ended = 0
        const program = Effect.gen(function*() {
          const gate = yield* gateOf()
          const one = ({ comes, timeout, pauses, root, takes, urgent }: (typeof requests)[number]) => {
            const sent = Effect.acquireUseRelease(
              Effect.map(Clock.currentTimeMillis, (now) => {
                // A request granted at the very moment in which a pause begins is not recalled.
                if (now > pause.from && now < pause.to) throw new Error("sent during a pause")
                if (++open > limit) throw new Error("too many at once")
              }),
              () => Effect.sleep(takes),
              () => Effect.sync(() => open--)
            )
            const saysPause = Effect.map(Clock.currentTimeMillis, (now) => {
              if (pauses === undefined) return
              gate.hold(pauses)
              pause = { from: now < pause.to ? pause.from : now, to: Math.max(pause.to, now + pauses) }
            })
            const all = sendAt(gate, from(root, { urgent }), Effect.zipLeft(sent, saysPause))
            return Effect.sleep(comes).pipe(
              Effect.zipRight(timeout === undefined ? all : Effect.timeoutOption(all, timeout)),
              Effect.zipRight(Effect.sync(() => ended++))
            )
          }
          yield* Effect.forEach(requests, one, { concurrency: "unbounded" })
          return gate.load()
        })
        expect(simulate(Effect.provide(program, governed(limit)), { seed, maxSlice: 40 })).toEqual(still)
        expect(ended).toBe(requests.length)
      }),
      { numRuns: share(200), seed: 11 }
    )
  }, 60_000)
})
