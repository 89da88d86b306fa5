import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { makeTurns } from "../../src/internal/turns.ts"
import { ask, gate } from "../support/gate.ts"

const waits = (fiber: Fiber.RuntimeFiber<unknown, unknown>) =>
  Effect.map(Fiber.poll(fiber), (exit) => exit._tag === "None")

describe("turns", () => {
  it.effect("lets nobody read while a transaction is open", () =>
    Effect.gen(function*() {
      const turns = yield* makeTurns
      const { open, pass, reached } = yield* gate
      const writer = yield* ask(turns.write(pass))
      yield* reached
      const reader = yield* ask(turns.read(Effect.void))
      const next = yield* ask(turns.write(Effect.void))
      yield* Effect.yieldNow()
      expect([yield* waits(reader), yield* waits(next)]).toEqual([true, true])
      yield* open
      yield* Fiber.joinAll([writer, reader, next])
    }))

  it.effect("lets many read at once, and nobody write meanwhile", () =>
    Effect.gen(function*() {
      const turns = yield* makeTurns
      const first = yield* gate
      const second = yield* gate
      const readers = [yield* ask(turns.read(first.pass)), yield* ask(turns.read(second.pass))]
      yield* first.reached
      yield* second.reached
      const writer = yield* ask(turns.write(Effect.void))
      yield* first.open
      yield* Effect.yieldNow()
      expect(yield* waits(writer)).toBe(true)
      yield* second.open
      yield* Fiber.joinAll([...readers, writer])
    }))

  it.effect("gives a turn back when its user fails or is interrupted, and takes none for one that stopped waiting", () =>
    Effect.gen(function*() {
      const turns = yield* makeTurns
      const { pass, reached } = yield* gate
      yield* Effect.flip(turns.write(Effect.fail("no")))
      const writer = yield* ask(turns.write(pass))
      yield* reached
      const reader = yield* ask(turns.read(Effect.void))
      yield* Fiber.interrupt(reader)
      yield* Fiber.interrupt(writer)
      yield* turns.read(Effect.void)
      yield* turns.write(Effect.void)
    }))
})
