/** Hooks at the end of a session, turn or subagent, and what hooks at a start add for the model. */
import { describe, expect, it } from "@effect/vitest"
import { type Hook, on } from "@skein/core/Hooks"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { HookPayload } from "@skein/domain/Hook"
import type { PermissionConfig } from "@skein/domain/Rule"
import { record } from "@skein/testing/RecordedEvents"
import { call, make, type Script, tasks } from "@skein/testing/ScriptedProvider"
import { agent, layer } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { touch } from "./support/asking.ts"
import { callsMade, childrenOf, messagesOf, resultOf, root } from "./support/tree.ts"

/** The results of a prompt with these scripts and hooks. */
const run = (
  scripts: Readonly<Record<string, Script>>,
  hooks: ReadonlyArray<Hook>,
  rules: PermissionConfig = {}
) =>
  Effect.gen(function*() {
    const { id } = yield* root()
    const { end, text } = yield* Session.prompt(id, "Go")
    const [child] = yield* childrenOf(id)
    const payloads = child === undefined ? [] : yield* messagesOf(child.id)
    return {
      end,
      text,
      calls: (yield* callsMade(id)).map(resultOf),
      child: payloads.filter(({ info }) => info.role === "user").map(({ parts }) =>
        parts.map((part) => part.type === "text" ? part.text : part.type).join(" + ")
      )
    }
  }).pipe(Effect.provide(layer(make(scripts), { hooks, tools: [touch], agents: [agent("worker")], rules })))

const touching = [call("touch", { path: "a" }), "done"]

describe("a SubagentStop hook", () => {
  it.effect("continues the subagent, and the next time it knows that", () => {
    const payloads: Array<unknown> = []
    const hook = on("SubagentStop", ({ again, output }) =>
      Effect.sync(() => {
        payloads.push([output, again])
        return payloads.length === 1 ? { decision: "deny", reason: "test it" } as const : undefined
      }))
    return Effect.gen(function*() {
      const { calls, child } = yield* run({ build: [tasks({ worker: "work" }), "fine"], worker: ["a", "b"] }, [hook])
      expect(payloads).toEqual([["a", undefined], ["b", true]])
      expect(child).toEqual(["work", "A hook wants you to continue:\n\ntest it"])
      expect(calls.join()).toContain("b")
    })
  })

  it.effect("cannot continue it forever, and does not continue one that failed", () => {
    let runs = 0
    const hook = on("SubagentStop", () => Effect.sync(() => (runs++, { decision: "deny", reason: "more" } as const)))
    return Effect.gen(function*() {
      const worker = Array.from({ length: 20 }, (_, at) => `answer ${at}`)
      const { calls, text } = yield* run({ build: [tasks({ worker: "work" }), "fine"], worker }, [hook])
      expect({ runs, text }).toEqual({ runs: 9, text: "fine" })
      expect(calls.join()).toContain("answer 8")
    })
  })
})

describe("a hook that adds context", () => {
  it.effect("at the start of a subagent is read with its prompt", () =>
    Effect.gen(function*() {
      const hook = on("SubagentStart", () => Effect.succeed({ context: "Mind the gap." }))
      const { child } = yield* run({ build: [tasks({ worker: "work" }), "fine"], worker: ["a"] }, [hook])
      expect(child).toEqual(["work + Mind the gap."])
    }))

  it.effect("before a call is read below its result, and below its failure", () =>
    Effect.gen(function*() {
      const hook = on("PreToolUse", () => Effect.succeed({ context: "It is generated." }))
      const { calls } = yield* run({ build: touching }, [hook], { edit: "allow" })
      expect(calls).toEqual(["touched a\n\nA hook says of this call: It is generated."])
      const wrong = yield* run({ build: [call("touch", { path: 1 }), "done"] }, [hook])
      expect(wrong.calls[0]).toMatch(/invalid arguments.*\n\nA hook says of this call: It is generated\.$/s)
    }))
})

describe("a hook that ends the turn", () => {
  it.effect.each<[string, Hook, string]>([
    ["before a call", on("PreToolUse", () => Effect.succeed({ decision: "deny", endsTurn: true })), "blocked"],
    ["after a call", on("PostToolUse", () => Effect.succeed({ endsTurn: true })), "touched a"],
    [
      "for a permission request",
      on("PermissionRequest", () => Effect.succeed({ decision: "deny", endsTurn: true })),
      "denied"
    ]
  ])("%s makes no further model request", ([name, hook, result]) =>
    Effect.gen(function*() {
      const { calls, end, text } = yield* run({ build: touching }, [hook], {
        edit: name === "for a permission request" ? "ask" : "allow"
      })
      expect({ end, text }).toEqual({ end: "denied", text: "" })
      expect(calls[0]).toContain(result)
    }))

  it.effect("of a subagent ends its run as failed, and its caller continues", () =>
    Effect.gen(function*() {
      const hook = on("PostToolUse", () => Effect.succeed({ endsTurn: true }), { matcher: "touch" })
      const scripts = { build: [tasks({ worker: "work" }), "fine"], worker: touching }
      const { calls, text } = yield* run(scripts, [hook], { edit: "allow" })
      expect(text).toBe("fine")
      expect(calls.join()).toContain("A hook has ended the turn.")
    }))
})

describe("a hook that allows other arguments", () => {
  const changing = (input: unknown) => on("PermissionRequest", () => Effect.succeed({ decision: "allow", input }))

  it.effect("has the call made with them, under the current rules", () =>
    Effect.gen(function*() {
      const rules = { edit: { "*": "ask", secret: "deny" } } as const
      expect((yield* run({ build: touching }, [changing({ path: "b" })], rules)).calls).toEqual(["touched b"])
      expect((yield* run({ build: touching }, [changing({ path: "secret" })], rules)).calls[0]).toContain(
        "a rule forbids edit (secret)"
      )
      expect((yield* run({ build: touching }, [changing({ path: 1 })], rules)).calls[0]).toContain("invalid arguments")
      // Protected things need a person, and Skein cannot ask anyone.
      expect((yield* run({ build: touching }, [changing({ path: "b", guarded: true })], rules)).calls[0]).not.toContain(
        "touched"
      )
    }))
})

it.scoped("a hook cannot change a call that only a person may allow", () =>
  Effect.gen(function*() {
    const { id } = yield* root()
    const events = yield* record()
    const turn = yield* Effect.fork(Session.prompt(id, "Go"))
    const asked = yield* events.first("permission.asked")
    yield* (yield* Permission).reply(asked.properties.id, "once")
    yield* Fiber.join(turn)
    expect((yield* callsMade(id)).map(resultOf)).toEqual(["touched a"])
  }).pipe(Effect.provide(layer(make({ build: [call("touch", { path: "a", guarded: true }), "done"] }), {
    hooks: [on("PermissionRequest", () => Effect.succeed({ decision: "allow", input: { path: "b" } }))],
    tools: [touch],
    asks: "person"
  }))))

describe("SessionStart and SessionEnd", () => {
  const watching = () => {
    const payloads: Array<HookPayload> = []
    const tell = (payload: HookPayload) => Effect.sync(() => void payloads.push(payload))
    return { payloads, hooks: [on("SessionStart", tell), on("SessionEnd", tell)] }
  }

  it.scoped("distinguish a new session from a resumed one, and end the prompted ones", () => {
    const { hooks, payloads } = watching()
    return Effect.gen(function*() {
      const storage = yield* Layer.build(SessionStorage.layerMemory)
      const stack = () => layer(make({ build: ["fine"] }), { hooks, storage: Layer.succeedContext(storage) })
      const id = yield* Effect.provide(
        Effect.gen(function*() {
          yield* root()
          const { id } = yield* root()
          yield* Session.prompt(id, "One")
          yield* Session.prompt(id, "Two")
          expect(payloads.length).toBe(1)
          return id
        }),
        stack()
      )
      yield* Effect.provide(Session.prompt(id, "Three"), stack())
      const at = { sessionID: id, rootID: id, path: ["build"], cwd: "/work" }
      expect(payloads).toEqual([
        { event: "SessionStart", ...at, source: "startup" },
        { event: "SessionEnd", ...at },
        { event: "SessionStart", ...at, source: "resume" },
        { event: "SessionEnd", ...at }
      ])
    })
  })

  it.effect("add context again after compaction", () =>
    Effect.gen(function*() {
      const hook = on("SessionStart", ({ source }) => Effect.succeed({ context: `Read AGENTS.md (${source}).` }))
      yield* Effect.gen(function*() {
        const { id } = yield* root()
        for (const each of ["1", "2", "3"]) yield* Session.prompt(id, each)
        yield* (yield* Session).compact(id)
        const last = (yield* messagesOf(id)).at(-1)
        expect(JSON.stringify(last?.parts)).toContain("Read AGENTS.md (compact).")
      }).pipe(Effect.provide(layer(
        make({
          build: ["one", "two", "three"].map((word) => `${word} ${"yyy ".repeat(2_000)}`),
          compaction: ["Short."]
        }),
        { hooks: [hook] }
      )))
    }))

  it.effect("SessionEnd runs even if the program is interrupted, and is awaited for at most 4 seconds", () =>
    Effect.gen(function*() {
      const payloads: Array<string> = []
      const hook = on("SessionEnd", () =>
        Effect.onInterrupt(
          Effect.zipRight(Effect.sync(() => void payloads.push("began")), Effect.never),
          () => Effect.sync(() => void payloads.push("given up"))
        ))
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(layer(make({ build: ["fine"] }), { hooks: [hook] }), scope)
      yield* Effect.provide(Effect.flatMap(root(), ({ id }) => Session.prompt(id, "Go")), context)
      const closing = yield* Effect.fork(
        Effect.onInterrupt(Effect.never, () => Scope.close(scope, Exit.void))
      )
      yield* Effect.yieldNow()
      const interrupting = yield* Effect.fork(Fiber.interrupt(closing))
      yield* TestClock.adjust("3 seconds")
      expect(payloads).toEqual(["began"])
      yield* TestClock.adjust("1 seconds")
      yield* Fiber.join(interrupting)
      expect(payloads).toEqual(["began", "given up"])
    }))
})
