/** Proves that the snapshot of a tree says how the work of each session ended. */
import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { snapshotOf } from "@skein/core/SessionLookup"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { root } from "./support/tree.ts"

it.effect("a snapshot has the beginning of each conclusion, and why work did not complete, once it has ended", () => {
  const script = Scripted.make({
    build: [Scripted.tasks({ finder: "a" }, { loser: "b" }), { text: "both are back", delay: { first: 1_000 } }],
    finder: ["found ".repeat(100)],
    loser: [Scripted.fault("auth", { message: "The key is wrong." })]
  })
  const agents = [SkeinTest.agent("finder"), SkeinTest.agent("loser")]
  return Effect.gen(function*() {
    const { id } = yield* root()
    const ends = Effect.map(
      snapshotOf(id),
      ({ sessions }) =>
        Object.fromEntries(sessions.map(({ agent, cause, conclusion }) => [agent, { cause, conclusion }]))
    )
    const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
    yield* TestClock.adjust(500)
    const found = { cause: undefined, conclusion: "found ".repeat(100).slice(0, 200) }
    const lost = { cause: expect.stringContaining("The key is wrong."), conclusion: undefined }
    const none = { cause: undefined, conclusion: undefined }
    expect(yield* ends).toEqual({ build: none, finder: found, loser: lost })
    yield* TestClock.adjust("1 minute")
    yield* Fiber.join(fiber)
    expect(yield* ends).toEqual({ build: { ...none, conclusion: "both are back" }, finder: found, loser: lost })
  }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
})
