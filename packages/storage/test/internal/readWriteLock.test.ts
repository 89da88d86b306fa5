import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { makeReadWriteLock } from "../../src/internal/readWriteLock.ts"
import { ask, gate } from "../support/gate.ts"

const waits = (fiber: Fiber.RuntimeFiber<unknown, unknown>) =>
  Effect.map(Fiber.poll(fiber), (exit) => exit._tag === "None")

describe("a read-write lock", () => {
  it.effect("blocks readers while a transaction is open", () =>
    Effect.gen(function*() {
      const lock = yield* makeReadWriteLock
      const { open, pass, reached } = yield* gate
      const writer = yield* ask(lock.write(pass))
      yield* reached
      const reader = yield* ask(lock.read(Effect.void))
      const next = yield* ask(lock.write(Effect.void))
      yield* Effect.yieldNow()
      expect([yield* waits(reader), yield* waits(next)]).toEqual([true, true])
      yield* open
      yield* Fiber.joinAll([writer, reader, next])
    }))

  it.effect("allows many concurrent readers, and no writer meanwhile", () =>
    Effect.gen(function*() {
      const lock = yield* makeReadWriteLock
      const first = yield* gate
      const second = yield* gate
      const readers = [yield* ask(lock.read(first.pass)), yield* ask(lock.read(second.pass))]
      yield* first.reached
      yield* second.reached
      const writer = yield* ask(lock.write(Effect.void))
      yield* first.open
      yield* Effect.yieldNow()
      expect(yield* waits(writer)).toBe(true)
      yield* second.open
      yield* Fiber.joinAll([...readers, writer])
    }))

  it.effect("is released when its user fails or is interrupted, and not acquired by one that stopped waiting", () =>
    Effect.gen(function*() {
      const lock = yield* makeReadWriteLock
      const { open, pass, reached } = yield* gate
      const reading = yield* gate
      yield* Effect.flip(lock.write(Effect.fail("no")))
      const interrupted = yield* ask(lock.read(reading.pass))
      yield* reading.reached
      yield* Fiber.interrupt(interrupted)
      const writer = yield* ask(lock.write(pass))
      yield* reached
      const reader = yield* ask(lock.read(Effect.void))
      yield* Fiber.interrupt(reader)
      yield* open
      yield* Fiber.join(writer)
      yield* lock.read(Effect.void)
      yield* lock.write(Effect.void)
    }))
})
