import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import * as Skein from "@skein/core/Skein"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as Effect from "effect/Effect"

it.effect("delegates to subagents in parallel", () => {
  const script = Scripted.make({
    build: [Scripted.tasks({ general: "one" }, { explore: "two" }), "All done."],
    general: ["general found it"],
    explore: ["explore found it"]
  })
  return Effect.gen(function*() {
    const session = yield* Session.create({ directory: "/work", agent: "build" })
    const turn = yield* Session.prompt(session.id, "Where is the CLI entry?")
    expect(turn.text).toBe("All done.")
    const messages = yield* Effect.flatMap(Session, (s) => s.messages(session.id))
    console.log(JSON.stringify(messages, null, 1).slice(0, 6000))
    console.log(script.requests.map((r) => r.tools.map((t) => t.name)), script.open)
  }).pipe(Effect.provide(Skein.layer({ provider: script.layer })))
})
