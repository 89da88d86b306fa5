import { afterEach, beforeEach, describe, expect, it } from "@effect/vitest"
import * as MonotonicClock from "@skein/core/MonotonicClock"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as TestClock from "effect/TestClock"
import { vi } from "vitest"

/** The time of the machine's monotonic clock. */
let steady = 0

/** Time passes, and every timer fires when it is due. */
const pass = async (seconds: number) => {
  for (let tenth = 0; tenth < seconds * 10; tenth++) {
    steady += 100
    await vi.advanceTimersByTimeAsync(100)
  }
}

/** The machine sleeps: all timers that became due meanwhile fire when it wakes. */
const sleepFor = (seconds: number) => {
  steady += seconds * 1_000
  return vi.advanceTimersByTimeAsync(seconds * 1_000)
}

/** Runs an effect under a layer; returns whether it has ended. */
const started = (layer: Layer.Layer<unknown>, effect: Effect.Effect<unknown>) => {
  let ended = false
  const runtime = ManagedRuntime.make(layer)
  runtime.runFork(effect).addObserver(() => {
    ended = true
  })
  return { ended: () => ended }
}

const hour = 3_600_000

describe.each([
  ["a program", MonotonicClock.layer as Layer.Layer<unknown>],
  ["everything that Skein runs", SkeinTest.layer({}) as Layer.Layer<unknown>]
])("the clock of %s", (_, layer) => {
  beforeEach(() => {
    steady = 1_000
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] })
    vi.spyOn(performance, "now").mockImplementation(() => steady)
  })
  afterEach(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
  })

  it("pauses waits and timeouts while the machine sleeps", async () => {
    const wait = started(layer, Effect.sleep("20 seconds"))
    const limit = started(layer, Effect.timeoutOption(Effect.never, "20 seconds"))
    await pass(3)
    await sleepFor(25)
    expect([wait.ended(), limit.ended()]).toEqual([false, false])
    // How much of the last second before the sleep was awake is unknown.
    await pass(16.5)
    expect([wait.ended(), limit.ended()]).toEqual([false, false])
    await pass(2)
    expect([wait.ended(), limit.ended()]).toEqual([true, true])
  })

  it("counts an event loop that is blocked for less than five seconds as busy, not as asleep", async () => {
    const wait = started(layer, Effect.sleep("20 seconds"))
    await pass(3)
    await sleepFor(3.9)
    await pass(13)
    expect(wait.ended()).toBe(false)
    await pass(0.2)
    expect(wait.ended()).toBe(true)
  })

  it.each([hour, -hour])("does not follow a wall clock that is set by %i ms", async (by) => {
    let began = 0
    let took = 0
    let day = 0
    const measured = Effect.gen(function*() {
      began = yield* MonotonicClock.now
      const before = yield* Clock.currentTimeMillis
      yield* Effect.sleep("20 seconds")
      took = (yield* MonotonicClock.now) - began
      day = (yield* Clock.currentTimeMillis) - before
    })
    const wait = started(layer, measured)
    await pass(3)
    vi.setSystemTime(Date.now() + by)
    await pass(16.8)
    expect(wait.ended()).toBe(false)
    await pass(0.4)
    expect(wait.ended()).toBe(true)
    expect(took).toBeGreaterThanOrEqual(20_000)
    expect(took).toBeLessThan(20_200)
    expect(Math.abs(day - took - by)).toBeLessThan(200)
  })

  it("does not count sleep as elapsed time", async () => {
    let took = 0
    const measured = Effect.gen(function*() {
      const began = yield* MonotonicClock.now
      yield* Effect.sleep("6 seconds")
      took = (yield* MonotonicClock.now) - began
    })
    started(layer, measured)
    await pass(2)
    await sleepFor(600)
    await pass(6)
    expect(took).toBeGreaterThanOrEqual(6_000)
    expect(took).toBeLessThan(7_200)
  })
})

describe("the clock of a test", () => {
  it.effect("is not replaced", () =>
    Effect.gen(function*() {
      const clock = yield* Effect.clock
      expect(yield* Effect.provide(Effect.clock, MonotonicClock.layer)).toBe(clock)
      const began = yield* MonotonicClock.now
      yield* TestClock.adjust("3 seconds")
      expect((yield* MonotonicClock.now) - began).toBe(3_000)
    }))
})

it.effect("a duration is measured between two moments on one clock, and on no two", () =>
  Effect.gen(function*() {
    const clock = yield* Effect.clock
    const { awakeTime, between, later, wallTime } = MonotonicClock
    const [awake, wall] = [awakeTime(clock), wallTime(clock)]
    yield* TestClock.adjust("3 seconds")
    expect(between(awake, awakeTime(clock))).toBe(3_000)
    expect(between(later(wall, 1_000), wallTime(clock))).toBe(2_000)
    // @ts-expect-error -- a date is no measure of patience
    expect(between(awake, wallTime(clock))).toBeDefined()
    // @ts-expect-error -- nor can it be subtracted
    expect(wallTime(clock) - awake).toBeDefined()
  }))
