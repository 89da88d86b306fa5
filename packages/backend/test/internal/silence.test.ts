import { expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { makeSilence } from "../../src/internal/server/connection.ts"

const url = "http://127.0.0.1:1"

it.scoped("ends within ten seconds after a server was heard last", () =>
  Effect.gen(function*() {
    const silence = yield* makeSilence(() => Effect.never)
    const fallen = yield* Effect.fork(silence.of(url))
    yield* TestClock.adjust("5 seconds")
    silence.heard(url)
    yield* TestClock.adjust("7 seconds")
    expect(Option.isNone(yield* Fiber.poll(fallen))).toBe(true)
    expect(silence.isAt(url)).toBe(false)
    yield* TestClock.adjust("3 seconds")
    yield* Fiber.join(fallen)
    expect(silence.isAt(url)).toBe(true)
    silence.heard(url)
    expect(silence.isAt(url)).toBe(false)
  }))

it.scoped("asks nothing of a server that is heard, and lets one that is slow or refuses connections answer late", () =>
  Effect.gen(function*() {
    const asked: Array<Deferred.Deferred<boolean>> = []
    const silence = yield* makeSilence(() =>
      Effect.flatMap(Deferred.make<boolean>(), (answer) => {
        asked.push(answer)
        return Deferred.await(answer)
      })
    )
    const fallen = yield* Effect.fork(silence.of(url))
    for (let second = 0; second < 20; second++) {
      yield* TestClock.adjust("1 second")
      silence.heard(url)
    }
    expect(asked).toHaveLength(0)
    for (let round = 0; round < 20; round++) {
      yield* TestClock.adjust("7 seconds")
      yield* Deferred.succeed(asked.at(-1)!, round % 2 === 0)
      if (round % 2 === 0) continue
      silence.heard(url)
    }
    expect(Option.isNone(yield* Fiber.poll(fallen))).toBe(true)
    yield* Fiber.interrupt(fallen)
  }))
