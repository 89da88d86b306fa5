import { describe, expect, it } from "@effect/vitest"
import { StorageError } from "@skein/core/StorageError"
import { interruptEverywhere } from "@skein/testing/Interruption"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { StorageWatch } from "../../src/internal/leases/storageWatch.ts"

/** A watch, and what it sees at looks that are so far apart. */
const make = Effect.map(Effect.clock, (clock) => {
  const watch = new StorageWatch(clock)
  return {
    request: watch.watch(() => Effect.void),
    looks: (...after: ReadonlyArray<number>) =>
      Effect.forEach(after, (ms) => Effect.map(TestClock.adjust(ms), () => watch.look() > 0))
  }
})

describe("the watch of the storage", () => {
  it.effect("sees that nothing comes of requests, or that they fail, until one ends well", () =>
    Effect.gen(function*() {
      const { looks, request } = yield* make
      yield* Effect.fork(request("reads", Effect.sleep(5_500)))
      expect(yield* looks(1_000, 1_000, 1_000, 1_000, 1_000, 1_000)).toEqual([false, false, true, true, true, false])
      const away = new StorageError({ operation: "read", reason: "busy", message: "It is away." })
      yield* Effect.flip(request("reads", Effect.fail(away)))
      expect(yield* looks(1_000)).toEqual([true])
      yield* request("reads", Effect.void)
      expect(yield* looks(1_000)).toEqual([false])
    }))

  it.effect("does not take a process for a storage that is away, if the process comes late itself", () =>
    Effect.gen(function*() {
      const { looks, request } = yield* make
      yield* Effect.fork(request("reads", Effect.never))
      expect(yield* looks(60_000, 4_000, 1_000, 1_000)).toEqual([false, false, true, true])
    }))

  it.effect("counts no request that was interrupted, wherever that was", () =>
    Effect.gen(function*() {
      const { looks, request } = yield* make
      const operations = yield* interruptEverywhere(request("reads", Effect.void), () => Effect.void)
      expect(operations).toBeGreaterThan(5)
      expect(yield* looks(1_000, 1_000, 1_000, 1_000)).toEqual([false, false, false, false])
    }))
})

describe("commits", () => {
  it.effect("do not stall after one was interrupted, wherever that was, and stall while one waits", () =>
    Effect.gen(function*() {
      const watch = new StorageWatch(yield* Effect.clock)
      const request = watch.watch(() => Effect.void)
      const operations = yield* interruptEverywhere(request("commits", Effect.void), () => Effect.void)
      expect(operations).toBeGreaterThan(5)
      yield* TestClock.adjust("1 minute")
      expect(watch.stalled).toBe(0)
      yield* Effect.fork(request("commits", Effect.never))
      yield* TestClock.adjust("30 seconds")
      yield* request("commits", Effect.void)
      yield* TestClock.adjust("20 seconds")
      expect(watch.stalled).toBe(20_000)
    }))
})
