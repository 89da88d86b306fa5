import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { vi } from "vitest"
import { root } from "../support/tree.ts"

const loaded = vi.hoisted(() => {
  // An earlier file of this process may have loaded it.
  vi.resetModules()
  return { checker: false }
})
vi.mock("@cfworker/json-schema", async (original) => {
  loaded.checker = true
  return await original()
})

it.effect("is not loaded until an agent has an output", () =>
  Effect.gen(function*() {
    yield* Session.prompt((yield* root()).id, "Go")
    expect(loaded.checker).toBe(false)
    yield* Session.prompt((yield* root({ agent: "finder" })).id, "Go")
    expect(loaded.checker).toBe(true)
  }).pipe(
    Effect.provide(
      SkeinTest.layer(
        { build: ["ok"], finder: [Scripted.call("final_answer", { answer: "ok" })] },
        { agents: [SkeinTest.agent("finder", { output: { type: "string" }, mode: "all" })] }
      )
    )
  ))
