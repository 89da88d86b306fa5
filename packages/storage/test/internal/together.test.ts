import { describe, expect, it } from "@effect/vitest"
import { StorageError } from "@skein/core/StorageError"
import { interruptEverywhere } from "@skein/testing/Interruption"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { makeTogether } from "../../src/internal/together.ts"

const failed = new StorageError({ operation: "read", reason: "other", message: "It is away." })

/** Reads that end when they are told to, and what each of them was asked for. */
const makeReads = Effect.gen(function*() {
  const reads: Array<{ readonly keys: ReadonlyArray<number>; readonly end: Deferred.Deferred<void, StorageError> }> = []
  const one = (yield* makeTogether)((keys: ReadonlyArray<number>) =>
    Effect.gen(function*() {
      const end = yield* Deferred.make<void, StorageError>()
      reads.push({ keys, end })
      yield* Deferred.await(end)
      return new Map(keys.filter((key) => key < 100).map((key) => [key, `value ${key}`]))
    })
  )
  const settle = Effect.repeatN(Effect.yieldNow(), 20)
  const end = (at: number) =>
    Effect.zipRight(
      Effect.suspend(() =>
        Effect.forEach(reads.slice(at, at + 1), ({ end: ending }) => Deferred.succeed(ending, undefined))
      ),
      settle
    )
  return { reads, one, settle, end }
})

describe("reads that come together", () => {
  it.scoped("begin at once while few are under way", () =>
    Effect.gen(function*() {
      const { end, one, reads, settle } = yield* makeReads
      const fiber = yield* Effect.fork(one(1))
      yield* settle
      expect(reads.map(({ keys }) => keys)).toEqual([[1]])
      yield* end(0)
      expect(yield* Fiber.join(fiber)).toBe("value 1")
    }))

  it.scoped("share one statement that begins after all of them asked", () =>
    Effect.gen(function*() {
      const { end, one, reads, settle } = yield* makeReads
      const first = yield* Effect.forEach([1, 2, 3], (key) => Effect.zipLeft(Effect.fork(one(key)), settle))
      const rest = yield* Effect.forEach([4, 5, 5, 200], (key) => Effect.fork(one(key)))
      yield* settle
      expect(reads.map(({ keys }) => keys)).toEqual([[1], [2], [3]])
      yield* end(1)
      expect(reads.slice(3).map(({ keys }) => keys)).toEqual([[4, 5, 200]])
      yield* end(3)
      expect(yield* Effect.forEach(rest, Fiber.join)).toEqual(["value 4", "value 5", "value 5", undefined])
      yield* end(0)
      yield* end(2)
      expect(yield* Effect.forEach(first, Fiber.join)).toEqual(["value 1", "value 2", "value 3"])
    }))

  it.scoped("fail for all that share them, and not for later ones", () =>
    Effect.gen(function*() {
      const { end, one, reads, settle } = yield* makeReads
      const fiber = yield* Effect.fork(Effect.either(one(1)))
      yield* settle
      yield* Effect.forEach(reads, ({ end: ending }) => Deferred.fail(ending, failed))
      expect(Either.isLeft(yield* Fiber.join(fiber))).toBe(true)
      const again = yield* Effect.fork(one(1))
      yield* settle
      yield* end(1)
      expect(yield* Fiber.join(again)).toBe("value 1")
    }))

  it.scoped("end for the others if the first of them goes away", () =>
    Effect.gen(function*() {
      const { end, one, settle } = yield* makeReads
      yield* Effect.forEach([1, 2, 3], (key) => Effect.zipLeft(Effect.fork(one(key)), settle))
      const leaving = yield* Effect.fork(one(4))
      const staying = yield* Effect.fork(one(4))
      yield* settle
      yield* Fiber.interrupt(leaving)
      yield* end(0)
      yield* end(3)
      expect(yield* Fiber.join(staying)).toBe("value 4")
      yield* end(1)
      yield* end(2)
    }))

  it.scoped("begin for later callers, wherever earlier ones were interrupted", () =>
    Effect.gen(function*() {
      const together = yield* makeTogether
      const one = together((keys: ReadonlyArray<number>) => Effect.succeed(new Map(keys.map((key) => [key, key]))))
      // As often as reads may be under way at once.
      for (let time = 0; time < 3; time++) {
        expect(yield* interruptEverywhere(one(1), () => Effect.void)).toBeGreaterThan(10)
      }
      const later = yield* Effect.fork(one(2))
      yield* Effect.repeatN(Effect.yieldNow(), 20)
      expect(yield* Fiber.poll(later)).toEqual(Option.some(Exit.succeed(2)))
    }))

  it.effect("end for callers that cannot be interrupted, also while the scope closes", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const one = (yield* Scope.extend(makeTogether, scope))(() => Effect.succeed(new Map([[1, "value 1"]])))
      const asking = yield* Effect.fork(Effect.uninterruptible(one(1)))
      yield* Scope.close(scope, Exit.void)
      expect(yield* Fiber.join(asking)).toBe("value 1")
      expect(yield* one(1)).toBe("value 1")
    }))
})
