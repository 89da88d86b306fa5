import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import { makeRepeatedLog } from "../../src/internal/entries.ts"

it.effect("logs a failure once, then every 30 seconds with a count, and at once after it has worked", () => {
  const lines: Array<unknown> = []
  const logger = Logger.make(({ message }) => void lines.push(message))
  return Effect.gen(function*() {
    const log = yield* makeRepeatedLog
    const failing = Effect.zipRight(log.failed("It failed", "why"), TestClock.adjust("1 second"))
    yield* Effect.repeatN(failing, 64)
    yield* log.worked
    yield* failing
    expect(lines).toEqual([
      ["It failed", "why"],
      ["It failed (30 times since this was last logged)", "why"],
      ["It failed (30 times since this was last logged)", "why"],
      ["It failed", "why"]
    ])
  }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
})
