import { describe, expect, it } from "@effect/vitest"
import { FairSemaphore } from "@skein/core/Fibers"
import { interruptEverywhere } from "@skein/testing/Interruption"
import { simulate } from "@skein/testing/Simulation"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

const settle = Effect.repeatN(Effect.yieldNow(), 20)

/** Callers that work until they are told to end, and those that have begun so far. */
const make = (permits: number) => {
  const semaphore = new FairSemaphore(permits)
  const begun: Array<number> = []
  const enter = (name: number, work: Effect.Effect<unknown>) =>
    Effect.zipLeft(
      Effect.fork(semaphore.withPermit(Effect.zipRight(Effect.sync(() => begun.push(name)), work))),
      settle
    )
  return { semaphore, begun, enter }
}

describe("a fair semaphore", () => {
  it.effect("grants permits in the order in which they are asked for, and no more than there are", () =>
    Effect.gen(function*() {
      const { begun, enter } = make(2)
      const end = yield* Effect.forEach([0, 1, 2, 3], () => Deferred.make<void>())
      for (const [name, each] of end.entries()) yield* enter(name, Deferred.await(each))
      expect(begun).toEqual([0, 1])
      yield* Effect.zipRight(Deferred.succeed(end[1]!, undefined), settle)
      expect(begun).toEqual([0, 1, 2])
      yield* Effect.zipRight(Deferred.succeed(end[0]!, undefined), settle)
      expect(begun).toEqual([0, 1, 2, 3])
    }))

  it.effect("passes over interrupted callers, and takes back the permit of one that fails", () =>
    Effect.gen(function*() {
      const { begun, enter } = make(1)
      const end = yield* Deferred.make<void, string>()
      const first = yield* enter(0, Effect.ignore(Deferred.await(end)))
      const second = yield* enter(1, Effect.void)
      yield* enter(2, Effect.die("Wrong"))
      yield* enter(3, Effect.void)
      yield* Fiber.interrupt(second)
      yield* Deferred.fail(end, "Wrong")
      yield* Fiber.await(first)
      yield* settle
      expect(begun).toEqual([0, 2, 3])
    }))

  it.effect("loses no permit that is granted in the moment of an interruption", () =>
    Effect.gen(function*() {
      const { begun, enter } = make(1)
      const end = yield* Deferred.make<void>()
      yield* enter(0, Deferred.await(end))
      const second = yield* enter(1, Effect.void)
      yield* enter(2, Effect.void)
      yield* Deferred.succeed(end, undefined)
      // The first one ends, and the second one has its permit, but has not run since.
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(second)
      yield* settle
      expect(begun).toEqual([0, 2])
    }))

  it.effect("has all its permits after interruptions at any place", () =>
    Effect.gen(function*() {
      const { begun, enter, semaphore } = make(1)
      const operations = yield* interruptEverywhere(semaphore.withPermit(Effect.void), (name) =>
        Effect.zipRight(enter(name, Effect.void), Effect.sync(() => expect(begun.at(-1)).toBe(name))))
      expect(operations).toBeGreaterThan(5)
    }))

  it("costs each caller the same, however many wait", () => {
    const costOf = (callers: number) => {
      let cost = 0
      const semaphore = new FairSemaphore(4)
      const all = Effect.forEach(
        Array.from({ length: callers }),
        () => semaphore.withPermit(Effect.sleep(1)),
        { concurrency: "unbounded", discard: true }
      )
      simulate(all, { seed: 1, step: (n) => void (cost = n) })
      return cost / callers
    }
    expect(costOf(2_000)).toBeLessThan(2 * costOf(100))
  })
})
