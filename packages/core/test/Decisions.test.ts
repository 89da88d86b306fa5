/** What a call stores of the rules that decided on it, and what a refusal says of them. */
import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { Ruleset } from "@skein/domain/Rule"
import { make } from "@skein/testing/ScriptedProvider"
import { agent, layer } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { results, touch, touching } from "./support/asking.ts"
import { root } from "./support/tree.ts"

const deny = { permission: "edit", pattern: "priv/*", action: "deny", origin: "/project/skein.json:3" } as const
const allow = { permission: "edit", pattern: "docs/*", action: "allow", origin: "/home/me/skein.json:7" } as const
const asks = { permission: "edit", pattern: "src/*", action: "ask", origin: "/project/skein.json:4" } as const

const decisions = (permission: Ruleset, ...paths: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const { id } = yield* root()
    yield* Session.prompt(id, "go")
    // As another process reads them.
    const { rows } = yield* Effect.flatMap(SessionStorage, (storage) => storage.messages(id))
    const stored = rows.flatMap(({ parts }) => parts.flatMap((part) => part.type === "tool" ? [part.decision] : []))
    return { stored, told: yield* results(id) }
  }).pipe(Effect.provide(layer(make({ build: [touching(...paths), "Done."] }), {
    agents: [{ ...agent("build", { mode: "primary" }), permission }],
    tools: [touch]
  })))

describe("a call", () => {
  it.effect("stores the rules that somebody wrote and that decided on it, with their origin and the mode", () =>
    Effect.gen(function*() {
      const { stored, told } = yield* decisions([allow, asks, deny], "priv/a", "docs/a", "src/a", "other")
      expect(stored).toEqual([
        { mode: "ask", rules: [deny] },
        { mode: "ask", rules: [allow] },
        { mode: "ask", rules: [asks] },
        undefined
      ])
      expect(told[0]).toBe(
        "Permission denied: a rule forbids edit (priv/a) here: \"edit\": {\"priv/*\": \"deny\"} in /project/skein.json:3."
      )
      expect(told[1]).toBe("touched docs/a")
    }))
})
