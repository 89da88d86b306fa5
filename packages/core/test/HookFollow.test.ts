/** Hooks that continue a session, give consent, and add context. */
import { describe, expect, it } from "@effect/vitest"
import { type Hook, on } from "@skein/core/Hooks"
import { Session } from "@skein/core/Session"
import type { PermissionConfig } from "@skein/domain/Rule"
import { call, make, type Script } from "@skein/testing/ScriptedProvider"
import { layer } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { touch } from "./support/asking.ts"
import { callsMade, messagesOf, resultOf, root } from "./support/tree.ts"

const run = (
  script: Script,
  hooks: ReadonlyArray<Hook>,
  more: { readonly rules?: PermissionConfig; readonly asks?: "nobody" | "auto" } = {}
) =>
  Effect.gen(function*() {
    const { id } = yield* root()
    const { text } = yield* Session.prompt(id, "Go")
    const calls = (yield* callsMade(id)).map(resultOf)
    const users = (yield* messagesOf(id)).filter(({ info }) => info.role === "user")
    const authors = users.map(({ info }) => info.role === "user" ? info.from : undefined)
    const prompts = users.map(({ parts }) => parts.map((part) => part.type === "text" ? part.text : part.type))
    return { text, calls, prompts, authors }
  }).pipe(Effect.provide(layer(make({ build: script }), { hooks, tools: [touch], ...more })))

describe("a Stop hook", () => {
  it.effect("continues the session with its reason; the caller gets the last answer, and the second call of the hook knows that", () =>
    Effect.gen(function*() {
      const again: Array<boolean> = []
      const hook = on("Stop", (payload) =>
        Effect.sync(() => {
          again.push(payload.again === true)
          return again.length === 1 ? { decision: "deny", reason: "run the tests" } as const : undefined
        }))
      const { authors, prompts, text } = yield* run(["first", "second"], [hook])
      expect(text).toBe("second")
      expect(again).toEqual([false, true])
      expect(prompts).toEqual([["Go"], ["A hook wants you to continue:\n\nrun the tests"]])
      // Nobody sees it as a waiting prompt of a person.
      expect(authors).toEqual([undefined, "agent"])
    }))

  it.effect("cannot continue it forever", () =>
    Effect.gen(function*() {
      let calls = 0
      const hook = on("Stop", () => Effect.sync(() => (calls++, { decision: "deny", reason: "more" } as const)))
      const { text } = yield* run(Array.from({ length: 20 }, (_, at) => `answer ${at}`), [hook])
      expect(calls).toBe(9)
      expect(text).toBe("answer 8")
    }))
})

describe("a hook before a call", () => {
  const consent = on("PreToolUse", () => Effect.succeed({ consent: true } as const))
  const script: Script = [call("touch", { path: "a" }), "done"]

  it.effect("consents: nobody is asked, and what is denied stays denied", () =>
    Effect.gen(function*() {
      expect((yield* run(script, [], { rules: { edit: "ask" } })).calls.join()).toContain("ermission")
      expect((yield* run(script, [consent], { rules: { edit: "ask" } })).calls).toEqual(["touched a"])
      expect((yield* run(script, [consent], { rules: { edit: { "*": "ask", a: "deny" } } })).calls.join())
        .toContain("ermission")
    }))

  it.effect("that wants a person to be asked overrides one that consents", () =>
    Effect.gen(function*() {
      const ask = on("PreToolUse", () => Effect.succeed({ decision: "ask", reason: "sure?" } as const))
      expect((yield* run(script, [consent, ask], { rules: { edit: "allow" } })).calls.join()).toContain("ermission")
    }))
})

describe("hooks of prompts", () => {
  it.effect("add context to the prompt: at the start once, and with each prompt", () =>
    Effect.gen(function*() {
      const hooks = [
        on("SessionStart", () => Effect.succeed({ context: "branch main" })),
        on("UserPromptSubmit", ({ prompt }) => Effect.succeed({ context: `said ${prompt}` }))
      ]
      const { prompts } = yield* Effect.gen(function*() {
        const { id } = yield* root()
        yield* Session.prompt(id, "one")
        yield* Session.prompt(id, "two")
        const users = (yield* messagesOf(id)).filter(({ info }) => info.role === "user")
        return { prompts: users.map(({ parts }) => parts.map((part) => part.type === "text" ? part.text : part.type)) }
      }).pipe(Effect.provide(layer(make({ build: ["a", "b"] }), { hooks })))
      expect(prompts).toEqual([["one", "branch main", "said one"], ["two", "said two"]])
    }))

  it.effect("may say much, and the model learns how much is left out", () =>
    Effect.gen(function*() {
      const hook = on("UserPromptSubmit", () => Effect.succeed({ context: "x".repeat(90_000) }))
      const { prompts } = yield* run(["a"], [hook])
      expect(prompts[0]?.[1]?.length).toBeLessThan(51_000)
      expect(prompts[0]?.[1]).toContain("left out")
    }))
})
