import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { ToolError } from "@skein/core/Tool"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { callsMade, messagesOf, resultOf, root } from "./support/tree.ts"

const half = "\ud83e"
const odd = `half a bird ${half}, a NUL \u0000, and €`

it.effect("malformed Unicode from any source is repaired before it reaches models or storage", () => {
  const echo = SkeinTest.tool("echo", ({ words }) => Effect.succeed(`${String(words)} ${half}`))
  const failing = SkeinTest.tool("failing", () => Effect.fail(new ToolError({ kind: "odd", message: odd })))
  const script = Scripted.make({
    build: [
      {
        text: odd,
        calls: [{ tool: "echo", raw: "{\"words\":\"\\ud83e\"}" }, { tool: "failing" }, { tool: `no${half}` }]
      },
      Scripted.tasks({ worker: odd }),
      odd
    ],
    worker: [odd]
  })
  return Effect.gen(function*() {
    const session = yield* Session
    const storage = yield* SessionStorage
    const { id } = yield* root()
    const turn = yield* session.prompt(id, [
      { type: "text", text: odd },
      { type: "file", mime: "text/plain", filename: odd, url: "data:text/plain,a" },
      { type: "subtask", agent: "worker", description: odd, prompt: odd }
    ], { system: odd })
    expect(turn.text.isWellFormed()).toBe(true)
    expect((yield* callsMade(id)).map(resultOf)).toHaveLength(5)
    const texts: Array<string> = []
    for (const { rows } of [yield* storage.messages(id)]) {
      JSON.stringify(rows, (key, value: unknown) => {
        if (typeof value === "string") texts.push(value)
        return key === "input" ? undefined : value
      })
    }
    expect(texts.filter((text) => !text.isWellFormed())).toEqual([])
    expect((yield* messagesOf(id)).length).toBeGreaterThan(4)
  }).pipe(Effect.provide(SkeinTest.layer(script, { tools: [echo, failing], agents: [SkeinTest.agent("worker")] })))
})
