import { describe, expect, it } from "@effect/vitest"
import { type Hook, on } from "@skein/core/Hooks"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { ToolError } from "@skein/core/Tool"
import type { PermissionConfig } from "@skein/domain/Rule"
import { record } from "@skein/testing/RecordedEvents"
import { call, make, type Script } from "@skein/testing/ScriptedProvider"
import { layer } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { touch } from "./support/asking.ts"
import { callsMade, messagesOf, resultOf, root } from "./support/tree.ts"

/** The effects of the tool. */
let done: Array<string> = []

/** Records its effect, and fails at `bad`. */
const noted = {
  ...touch,
  execute: ({ path }: { readonly path: string }) =>
    Effect.suspend(() => {
      done.push(path)
      return path === "bad"
        ? Effect.fail(new ToolError({ kind: "failed", message: "it cannot be touched" }))
        : Effect.succeed({ title: path, output: `touched ${path}`, metadata: {} })
    })
}

/** Runs a turn with these calls one after the other; returns what the model reads of them. */
const run = (
  calls: ReadonlyArray<{ readonly path: unknown; readonly guarded?: boolean }>,
  hooks: ReadonlyArray<Hook>,
  more: { readonly rules?: PermissionConfig; readonly asks?: "nobody" | "auto" } = {}
) =>
  Effect.gen(function*() {
    done = []
    const { id } = yield* root()
    yield* Session.prompt(id, "Go")
    return (yield* callsMade(id)).map(resultOf)
  }).pipe(
    Effect.provide(
      layer(make({ build: [...calls.map((each) => call("touch", each)), "done"] as Script }), {
        hooks,
        tools: [noted],
        rules: { edit: "allow" },
        ...more
      })
    )
  )

describe("a hook before a call", () => {
  it.effect("blocks it, and the model reads why", () =>
    Effect.gen(function*() {
      const hook = on("PreToolUse", () => Effect.succeed({ decision: "deny", reason: "not on Fridays" } as const), {
        name: "guard"
      })
      expect(yield* run([{ path: "a" }], [hook])).toEqual(["The call was blocked by a hook (guard): not on Fridays"])
      expect(done).toEqual([])
    }))

  it.effect("changes its arguments, which are then checked, permitted and stored as changed", () =>
    Effect.gen(function*() {
      const to = (input: unknown) => on("PreToolUse", () => Effect.succeed({ input }))
      expect(yield* run([{ path: "a" }], [to({ path: "b" })])).toEqual(["touched b"])
      expect(yield* run([{ path: 7 }], [to({ path: "fixed" })])).toEqual(["touched fixed"])
      expect(yield* run([{ path: "a" }], [to({ path: 7 })])).toEqual([
        expect.stringContaining("invalid arguments for touch: touch.path")
      ])
      expect(yield* run([{ path: "a" }], [to({ path: "b" })], { rules: { edit: { "*": "allow", "b": "deny" } } }))
        .toEqual(["Permission denied: a rule forbids edit (b) here."])
      expect(done).toEqual([])
    }))

  it.effect("gets the changes of the hook before it, and the model's text if that is not JSON", () =>
    Effect.gen(function*() {
      const payloads: Array<unknown> = []
      const see = on("PreToolUse", ({ input }) => Effect.sync(() => void payloads.push(input)))
      const change = on("tool.execute.before", () => Effect.succeed({ input: { path: "b" } }))
      yield* run([{ path: "a" }], [see, change, see])
      expect(payloads).toEqual([{ path: "a" }, { path: "b" }])
      const raw = make({ build: [{ calls: [{ tool: "touch", raw: "{not json" }] }, "done"] })
      yield* Effect.provide(
        Effect.flatMap(root(), ({ id }) => Session.prompt(id, "Go")),
        layer(raw, { hooks: [see], tools: [noted] })
      )
      expect(payloads.at(-1)).toBe("{not json")
    }))

  it.effect("has a person asked although rules allow it; a denial stays, and a prior consent counts", () =>
    Effect.gen(function*() {
      const hook = on("PreToolUse", () => Effect.succeed({ decision: "ask", reason: "sure?" } as const))
      expect(yield* run([{ path: "a" }], [hook])).toEqual([expect.stringContaining("needs a person's consent")])
      expect(yield* run([{ path: "a" }], [hook], { rules: { edit: { "*": "allow", "a": "deny" } } })).toEqual([
        expect.stringContaining("a rule forbids")
      ])
      expect(yield* run([{ path: "a" }], [hook], { asks: "auto" })).toEqual(["touched a"])
    }))

  it.scoped("shows the person why it asks, and does not offer `always`", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const events = yield* record()
      const turn = yield* Effect.fork(Session.prompt(id, "Go"))
      const { properties } = yield* events.first("permission.asked")
      expect(properties).toMatchObject({
        permission: "edit",
        patterns: ["a"],
        always: [],
        metadata: { reason: "sure?" }
      })
      yield* (yield* Permission).reply(properties.id, "once")
      yield* Fiber.join(turn)
      expect((yield* callsMade(id)).map(resultOf)).toEqual(["touched a"])
    }).pipe(
      Effect.provide(layer(make({ build: [call("touch", { path: "a" }), "done"] }), {
        hooks: [on("PreToolUse", () => Effect.succeed({ decision: "ask", reason: "sure?" } as const))],
        tools: [noted],
        rules: { edit: "allow" },
        asks: "person"
      }))
    ))

  it.effect("does not allow what rules forbid", () =>
    Effect.gen(function*() {
      const hook = on("PreToolUse", () => Effect.succeed({ decision: "allow" } as const))
      expect(yield* run([{ path: "a" }], [hook], { rules: { edit: { "*": "allow", "a": "deny" } } })).toEqual([
        expect.stringContaining("a rule forbids")
      ])
      expect(yield* run([{ path: "a" }], [hook], { rules: { edit: "ask" } })).toEqual([
        expect.stringContaining("needs a person's consent")
      ])
    }))

  it.effect("of several, the strictest wins, and nothing is asked after a denial", () =>
    Effect.gen(function*() {
      let asked = 0
      const say = (decision: "allow" | "ask" | "deny") =>
        on("PreToolUse", () =>
          Effect.sync(() => {
            asked++
            return { decision }
          }), { name: decision })
      expect(yield* run([{ path: "a" }], [say("ask"), say("allow")])).toEqual([
        expect.stringContaining("needs a person's consent")
      ])
      asked = 0
      expect(yield* run([{ path: "a" }], [say("allow"), say("deny"), say("allow")])).toEqual([
        "The call was blocked by a hook (deny)."
      ])
      expect(asked).toBe(2)
    }))

  it.effect("does not disable loop detection", () =>
    Effect.gen(function*() {
      const hook = on("PreToolUse", () => Effect.succeed({ decision: "deny", reason: "no" } as const))
      const results = yield* run(Array.from({ length: 9 }, () => ({ path: "a" })), [hook])
      expect(results).toHaveLength(3)
      expect(results.at(-1)).toContain("doom_loop")
    }))
})

it.effect("no hook runs for the tool that takes a turn's final answer", () => {
  const script = make({ build: [call("final_answer", { answer: "seven" }), call("final_answer", { answer: 7 })] })
  const payloads: Array<unknown> = []
  const no = (payload: unknown) => Effect.sync(() => (payloads.push(payload), { decision: "deny" } as const))
  return Effect.gen(function*() {
    const { id } = yield* root()
    expect(yield* Session.ask(id, "How many?", Schema.Number)).toBe(7)
    expect(payloads).toEqual([])
  }).pipe(Effect.provide(layer(script, { hooks: [on("PreToolUse", no), on("PostToolUse", no)] })))
})

describe("a hook for permission requests", () => {
  const consent = (decision: "allow" | "ask" | "deny") =>
    on("PermissionRequest", () => Effect.succeed({ decision, reason: "says so" }), { name: decision })
  const ask = { rules: { edit: "ask" } } as const

  it.effect("answers the question, with yes or no", () =>
    Effect.gen(function*() {
      expect(yield* run([{ path: "a" }], [consent("allow")], ask)).toEqual(["touched a"])
      expect(yield* run([{ path: "a" }], [consent("deny")], { ...ask, asks: "auto" })).toEqual([
        "Permission denied by a hook (deny): says so"
      ])
      expect(yield* run([{ path: "a" }], [consent("ask")], ask)).toEqual([
        expect.stringContaining("needs a person's consent")
      ])
    }))

  it.effect("of several, the strictest wins", () =>
    Effect.gen(function*() {
      expect(yield* run([{ path: "a" }], [consent("allow"), consent("ask")], ask)).toEqual([
        expect.stringContaining("needs a person's consent")
      ])
      expect(yield* run([{ path: "a" }], [consent("allow"), consent("deny")], ask)).toEqual([
        "Permission denied by a hook (deny): says so"
      ])
    }))

  it.effect("lifts no denial, and allows nothing protected", () =>
    Effect.gen(function*() {
      expect(yield* run([{ path: "a" }], [consent("allow")], { rules: { edit: { "*": "allow", "a": "deny" } } }))
        .toEqual([
          expect.stringContaining("a rule forbids")
        ])
      expect(yield* run([{ path: "a", guarded: true }], [consent("allow")])).toEqual([
        expect.stringContaining("needs a person's consent")
      ])
      expect(done).toEqual([])
    }))
})

describe("a hook after a call", () => {
  it.effect("changes what the model reads, one after the other, even for a failure", () =>
    Effect.gen(function*() {
      const add = (end: string) => on("PostToolUse", ({ output }) => Effect.succeed({ output: `${output}${end}` }))
      expect(yield* run([{ path: "a" }, { path: "bad" }], [add("!"), add("?")])).toEqual([
        "touched a!?",
        "it cannot be touched!?"
      ])
    }))

  it.effect("withholds a result, and says that the call was made", () =>
    Effect.gen(function*() {
      const hook = on("PostToolUse", () => Effect.succeed({ decision: "deny", reason: "a key is in it" } as const), {
        name: "keys"
      })
      expect(yield* run([{ path: "a" }, { path: "bad" }], [hook])).toEqual([
        "The call was made, and its result withheld by a hook (keys): a key is in it",
        "The call failed, and its error was withheld by a hook (keys): a key is in it"
      ])
      expect(done).toEqual(["a", "bad"])
    }))

  it.effect("cannot exceed the limit of a tool's output", () =>
    Effect.gen(function*() {
      const hook = on("PostToolUse", () => Effect.succeed({ output: "x".repeat(200_000) }))
      const [result] = yield* run([{ path: "a" }], [hook])
      expect(result!.length).toBeLessThan(60_000)
    }))

  it.effect("does not run for a call that was denied by a rule, by a hook, or because Skein cannot ask anyone", () =>
    Effect.gen(function*() {
      const payloads: Array<unknown> = []
      const after = on("PostToolUse", (payload) => Effect.sync(() => void payloads.push(payload)))
      const no = on("PermissionRequest", () => Effect.succeed({ decision: "deny" } as const))
      const denied = expect.stringMatching(/^Permission denied/)
      expect(yield* run([{ path: "a" }], [after], { rules: { edit: "ask" }, asks: "nobody" })).toEqual([denied])
      // A tool that is denied completely is not offered; this one is denied for a path.
      expect(yield* run([{ path: "b" }], [after], { rules: { edit: { "*": "allow", "b": "deny" } } })).toEqual([denied])
      expect(yield* run([{ path: "a" }], [no, after], { rules: { edit: "ask" } })).toEqual([denied])
      expect(payloads).toEqual([])
    }))

  it.effect("does not run for a call that a hook before it has blocked", () =>
    Effect.gen(function*() {
      const payloads: Array<unknown> = []
      const deny = on("PreToolUse", () => Effect.succeed({ decision: "deny" } as const))
      yield* run([{ path: "a" }], [
        deny,
        on("PostToolUse", (payload) => Effect.sync(() => void payloads.push(payload)))
      ])
      expect(payloads).toEqual([])
    }))
})

describe("a hook for prompts", () => {
  it.effect("blocks a prompt before anything of it is stored", () => {
    const hook = on(
      "UserPromptSubmit",
      ({ prompt }) =>
        Effect.succeed(prompt.includes("secret") ? { decision: "deny", reason: "keep it" } as const : undefined)
    )
    const script = make({ build: ["fine"] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      expect(yield* Effect.flip(Session.prompt(id, "a secret"))).toMatchObject({
        _tag: "HookRefused",
        event: "UserPromptSubmit",
        message: "The prompt was blocked by a hook (of this program): keep it"
      })
      expect(yield* messagesOf(id)).toEqual([])
      expect(script.requests).toEqual([])
      expect(yield* Session.prompt(id, "an open word")).toMatchObject({ text: "fine" })
    }).pipe(Effect.provide(layer(script, { hooks: [hook] })))
  })

  it.effect("does not start a session that was stopped meanwhile", () => {
    const script = make({ build: ["fine"] })
    let stop: Effect.Effect<void, unknown> = Effect.void
    const hook = on("UserPromptSubmit", () => stop)
    return Effect.gen(function*() {
      const { id } = yield* root()
      stop = (yield* Session).stop(id)
      expect(yield* Effect.flip(Session.prompt(id, "Go"))).toMatchObject({ _tag: "SessionStopped" })
      expect(script.requests).toEqual([])
    }).pipe(Effect.provide(layer(script, { hooks: [hook] })))
  })
})
