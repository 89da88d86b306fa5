import { describe, expect, it } from "@effect/vitest"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { outputForm } from "../../src/internal/conversation/outputForm.ts"
import { type Generation, generations, go, resumed } from "../support/generations.ts"

describe("a resumed task with a schema", () => {
  it("is reminded of it if its process died after an answer in text", async () => {
    const properties = { n: { type: "number" } }
    const former = SkeinTest.agent("former", { output: { type: "object", properties, required: ["n"] } })
    const formers = { agents: [former] }
    // The validator is loaded at first use, which takes an event loop.
    await Effect.runPromise(outputForm(former))
    const scripts: Generation["scripts"] = {
      build: ({ messages }) =>
        messages.some(({ role }) => role === "tool") ? "I see" : Scripted.tasks({ former: "Count" }),
      former: ({ messages }) =>
        JSON.stringify(messages).includes("Give your final answer by calling")
          ? { calls: [{ tool: "final_answer", input: { answer: { n: 7 } } }] }
          : "Seven"
    }
    for (let at = 5; at <= 16; at++) {
      generations({ options: formers, scripts, dies: { at, made: true }, program: go }, {
        options: formers,
        scripts,
        program: (id) =>
          Effect.gen(function*() {
            yield* resumed(id)
            const { rows } = yield* Effect.flatMap(SessionStorage, (storage) => storage.runs({ rootID: id }))
            expect(rows.map(({ outcome }) => outcome?.text)).toEqual([expect.stringContaining("7")])
          })
      })
    }
  })
})
