import { expect, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { makeSilence } from "../../src/internal/callTool.ts"

it.effect("a call is not given up because somebody sets the clock of the machine", () => {
  let wall = 0
  const clock: Clock.Clock = Object.assign(Clock.make(), {
    unsafeCurrentTimeMillis: () => wall,
    unsafeCurrentTimeNanos: () => 0n,
    sleep: () => Effect.never
  })
  return Effect.gen(function*() {
    const { watch } = yield* makeSilence(1_000)
    wall += 3_600_000
    const watching = yield* Effect.fork(watch)
    yield* Effect.yieldNow()
    expect(Option.isNone(yield* Fiber.poll(watching))).toBe(true)
  }).pipe(Effect.withClock(clock))
})
