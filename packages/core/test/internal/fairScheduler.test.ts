import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Scheduler from "effect/Scheduler"
import { vi } from "vitest"
import { inSlices } from "../../src/internal/fibers.ts"

const count = 200

/**
 * Fibers that are all due at once, each with a millisecond of work; returns how many had ended when a timer fired, and
 * their order.
 */
const burst = Effect.gen(function*() {
  const ended: Array<number> = []
  let atTimer = -1
  setTimeout(() => {
    atTimer = ended.length
  }, 0)
  const busy = (name: number) =>
    Effect.zipRight(
      Effect.yieldNow(),
      Effect.sync(() => {
        const end = performance.now() + 1
        while (performance.now() < end);
        ended.push(name)
      })
    )
  yield* Effect.forEach(Array.from({ length: count }, (_, i) => i), busy, { concurrency: "unbounded", discard: true })
  return { atTimer, ended }
})

describe("a burst of fibers", () => {
  it.live("lets a timer fire in between, and runs in order", () =>
    Effect.gen(function*() {
      const { atTimer, ended } = yield* inSlices(burst)
      expect(atTimer).toBeGreaterThanOrEqual(0)
      expect(atTimer).toBeLessThan(count)
      expect(ended).toEqual(Array.from({ length: count }, (_, i) => i))
    }))

  it.live("continues if a test has replaced the timers", () =>
    Effect.acquireUseRelease(
      Effect.sync(() => vi.useFakeTimers({ toFake: ["setTimeout"] })),
      () => Effect.map(inSlices(burst), ({ ended }) => expect(ended).toHaveLength(count)),
      () => Effect.sync(() => vi.useRealTimers())
    ))

  it.live("runs on a scheduler that the caller chose", () => {
    const chosen = new Scheduler.SyncScheduler()
    return Effect.gen(function*() {
      const found = yield* inSlices(FiberRef.get(FiberRef.currentScheduler)).pipe(
        Effect.locally(FiberRef.currentScheduler, chosen)
      )
      expect(found).toBe(chosen)
    })
  })
})
