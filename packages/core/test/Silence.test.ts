import { describe, expect, it } from "@effect/vitest"
import { makeSilence, type Wire } from "@skein/core/Silence"
import { interruptEverywhere } from "@skein/testing/Interruption"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"

/** A connection that fails what was asked on it when it ends. */
const makeWire = Effect.map(Deferred.make<string, Error>(), (answer) => {
  const wire = {
    bytesRead: 0,
    destroyed: false as boolean,
    destroy: (error: Error) => {
      wire.destroyed = true
      Deferred.unsafeDone(answer, Effect.fail(error))
    }
  } satisfies Wire
  return { answer, wire }
})

describe("a connection on which nothing comes", () => {
  it.scoped("ends after the time that was given, and what was asked fails", () =>
    Effect.gen(function*() {
      const heard = yield* makeSilence("10 seconds")
      const { answer, wire } = yield* makeWire
      const asking = yield* Effect.fork(Effect.flip(heard(wire)(answer)))
      yield* TestClock.adjust("9 seconds")
      expect(wire.destroyed).toBe(false)
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(asking)).toMatchObject({ message: "nothing came for 10s", code: "ETIMEDOUT" })
    }))

  it.scoped("does not end while something comes, or nothing is asked", () =>
    Effect.gen(function*() {
      const heard = yield* makeSilence("10 seconds")
      const { answer, wire } = yield* makeWire
      const asking = yield* Effect.fork(heard(wire)(answer))
      for (let time = 0; time < 4; time++) {
        yield* TestClock.adjust("8 seconds")
        wire.bytesRead++
      }
      yield* Deferred.succeed(answer, "all")
      expect(yield* Fiber.join(asking)).toBe("all")
      yield* TestClock.adjust("1 hour")
      expect(wire.destroyed).toBe(false)
    }))

  it.scoped("takes those along that nobody uses, and no others", () =>
    Effect.gen(function*() {
      const heard = yield* makeSilence("10 seconds")
      const [silent, unused, used] = [yield* makeWire, yield* makeWire, yield* makeWire]
      yield* heard(unused.wire)(Effect.void)
      yield* Effect.fork(Effect.flip(heard(silent.wire)(silent.answer)))
      yield* TestClock.adjust("5 seconds")
      yield* Effect.fork(heard(used.wire)(used.answer))
      yield* TestClock.adjust("5 seconds")
      expect([silent, unused, used].map(({ wire }) => wire.destroyed)).toEqual([true, true, false])
    }))

  it.scoped("is none on which all that was asked has been interrupted, wherever that was", () =>
    Effect.gen(function*() {
      const heard = yield* makeSilence("10 seconds")
      const { wire } = yield* makeWire
      const operations = yield* interruptEverywhere(heard(wire)(Effect.void), () => Effect.void)
      expect(operations).toBeGreaterThan(5)
      yield* TestClock.adjust("1 hour")
      expect(wire.destroyed).toBe(false)
    }))
})
