import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { tasks, text } from "@skein/testing/ScriptedProvider"
import { agent, layer } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"

const agents = [agent("worker", { permission: { task: "allow" } }), agent("scout")]
const script = {
  build: [tasks({ worker: "Find the entry" }), "It is bin.ts."],
  worker: [tasks({ scout: "List the files" }), text("bin.ts", { delay: { first: 60_000 } })],
  scout: ["There is bin.ts"]
}

it.effect("three levels and a slow model, in no time", () =>
  Effect.gen(function*() {
    const session = yield* Session.create({ directory: "/project" })
    const turn = yield* Effect.fork(Session.prompt(session.id, "Where is the entry?"))
    yield* TestClock.adjust("1 minute")
    expect((yield* Fiber.join(turn)).text).toBe("It is bin.ts.")
  }).pipe(Effect.provide(layer(script, { agents }))))
