import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { fault, make, tasks } from "@skein/testing/ScriptedProvider"
import { agent, layer } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"

const agents = [agent("lead", { permission: { task: "allow" } }), agent("scout")]
const script = make({
  build: [tasks({ lead: "Find the entry" }), "It is bin.ts."],
  lead: [tasks({ scout: "Search src" }, { scout: "Search bin" }), "They found bin.ts."],
  scout: [fault("rate_limit", { retryAfter: 600_000 }), "bin.ts:1"]
})

it.effect("finds the entry, even if the provider asks for ten minutes", () =>
  Effect.gen(function*() {
    const session = yield* Session.create({ directory: "/project", title: "A test" })
    const turn = yield* Effect.fork(Session.prompt(session.id, "Where is the entry?"))
    yield* TestClock.adjust("15 minutes")
    expect((yield* Fiber.join(turn)).text).toBe("It is bin.ts.")
    expect(script.requests).toHaveLength(8)
  }).pipe(Effect.provide(layer(script, { agents }))))
