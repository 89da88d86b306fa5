import { expect, it } from "@effect/vitest"
import { Instructions } from "@skein/core/Instructions"
import { Session } from "@skein/core/Session"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { root } from "./support/tree.ts"

it.effect("every agent reads the instructions of its directory, after its own prompt and before those of this prompt only", () => {
  const script = Scripted.make({
    build: [Scripted.call("task", { description: "Look around", prompt: "Look", subagent_type: "worker" }), "done"],
    worker: ["looked"]
  })
  const instructions = Layer.succeed(Instructions, {
    of: (directory: string) => Effect.succeed(`Work tidily in ${directory}.`),
    isBare: () => Effect.succeed(false)
  })
  return Effect.gen(function*() {
    const { directory, id } = yield* root()
    yield* Session.prompt(id, "Go", { system: "Be brief." })
    const systems = script.requests.filter(({ origin }) => origin.purpose === "turn").map((
      { messages: [first], origin }
    ) => `${origin.path.join(">")}: ${first?.role === "system" ? first.content : ""}`)
    expect(systems).toHaveLength(3)
    expect(systems[0]).toMatch(
      /^build: You are Skein[^]*\n\nWork tidily in [^]*\n\nWorking directory: [^]*\n\nBe brief\.$/
    )
    expect(systems[1]).toMatch(/^build>worker: Work\n\nYou are a subagent/)
    expect(systems[1]).toContain(`\n\nWork tidily in ${directory}.\n\nWorking directory`)
  }).pipe(
    Effect.provide(SkeinTest.layer(script, { agents: [SkeinTest.agent("worker", { prompt: "Work" })], instructions }))
  )
})
