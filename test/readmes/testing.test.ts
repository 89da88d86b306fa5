import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { fault, make } from "@skein/testing/ScriptedProvider"
import { layer } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"

it.effect("goes on when the provider has asked for an hour", () => {
  const script = make({ build: [fault("rate_limit", { retryAfter: 3_600_000 }), "Done."] })
  return Effect.gen(function*() {
    const session = yield* Session.create({ directory: "/project", title: "A test" })
    const turn = yield* Effect.fork(Session.prompt(session.id, "Do it"))
    yield* TestClock.adjust("2 hours")
    expect((yield* Fiber.join(turn)).text).toBe("Done.")
    expect(script.requests).toHaveLength(2)
  }).pipe(Effect.provide(layer(script)))
})
