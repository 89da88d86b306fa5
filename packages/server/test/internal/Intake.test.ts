import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { Intake } from "../../src/internal/ServerState.ts"

const most = 16

/** Storing that takes 100 ms. */
const storing = Effect.sleep("100 millis")

describe("intake", () => {
  it.effect("lets the first end before the last begin, in their order", () =>
    Effect.gen(function*() {
      const intake = new Intake()
      const begun: Array<number> = []
      const ended: Array<number> = []
      const one = (number: number) =>
        intake.enter(
          Effect.sync(() => begun.push(number)).pipe(
            Effect.zipRight(storing),
            Effect.zipRight(Effect.sync(() => ended.push(number)))
          )
        )
      const all = yield* Effect.fork(
        Effect.forEach(Array.from({ length: 100 }, (_, number) => number), one, { concurrency: "unbounded" })
      )
      yield* TestClock.adjust("99 millis")
      expect([begun.length, ended.length]).toEqual([most, 0])
      yield* TestClock.adjust("1 millis")
      expect([begun.length, ended.length]).toEqual([2 * most, most])
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(all)
      expect(begun).toEqual(Array.from({ length: 100 }, (_, number) => number))
      expect(ended.toSorted((a, b) => a - b)).toEqual(begun)
    }))

  it.effect("does not let those that wait for something else hold up others for more than five seconds", () =>
    Effect.gen(function*() {
      const intake = new Intake()
      const slow = yield* Effect.fork(
        Effect.forEach(Array.from({ length: most }), () => intake.enter(Effect.sleep("1 hour")), {
          concurrency: "unbounded"
        })
      )
      yield* TestClock.adjust("1 millis")
      const next = yield* Effect.fork(intake.enter(storing))
      yield* TestClock.adjust("4998 millis")
      expect(yield* Fiber.poll(next)).toMatchObject({ _tag: "None" })
      yield* TestClock.adjust("102 millis")
      yield* Fiber.join(next)
      yield* TestClock.adjust("1 hour")
      yield* Fiber.join(slow)
      // Each of them left once: again only so many are let in.
      let isIn = 0
      const more = intake.enter(Effect.zipRight(Effect.sync(() => isIn++), Effect.never))
      const rest = yield* Effect.fork(
        Effect.all(Array.from({ length: 2 * most }, () => more), { concurrency: "unbounded" })
      )
      yield* TestClock.adjust("1 millis")
      expect(isIn).toBe(most)
      yield* Fiber.interrupt(rest)
    }))

  it.effect("forgets who goes away before it is in, and frees the place of who goes away afterwards", () =>
    Effect.gen(function*() {
      const intake = new Intake()
      let isIn = 0
      const one = intake.enter(Effect.zipRight(Effect.sync(() => isIn++), Effect.never))
      const first = yield* Effect.forEach(Array.from({ length: most }), () => Effect.fork(one))
      const waiting = yield* Effect.fork(one)
      yield* Effect.yieldNow()
      expect(isIn).toBe(most)
      yield* Fiber.interrupt(waiting)
      yield* Fiber.interruptAll(first)
      const again = yield* Effect.forEach(Array.from({ length: 2 * most }), () => Effect.fork(one))
      yield* Effect.yieldNow()
      expect(isIn).toBe(2 * most)
      yield* Fiber.interruptAll(again)
    }))
})
