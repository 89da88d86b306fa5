/**
 * The mode of a tree: how much it may do without asking, which agent works in it, and when a change answers open
 * questions.
 */
import { describe, expect, it } from "@effect/vitest"
import { Command } from "@skein/core/Command"
import { Confinement, ModeRefused } from "@skein/core/Isolation"
import { Session } from "@skein/core/Session"
import type { PermissionAsk } from "@skein/core/Tool"
import type { Mode } from "@skein/domain/Mode"
import type { PermissionConfig } from "@skein/domain/Rule"
import { tasks } from "@skein/testing/ScriptedProvider"
import { tool } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { begin, results, touch, touching, waiting, with_ } from "./support/asking.ts"
import { callsMade, resultOf } from "./support/tree.ts"

const create = (mode?: Mode, agent = "build") =>
  Session.create({ directory: "/work", agent, ...(mode === undefined ? {} : { mode }) })

describe("the mode of a tree", () => {
  it.scoped("is stored on its root, and published with the session", () =>
    Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* create()
      expect((yield* create("edits")).mode).toBe("edits")
      const changed = yield* session.setMode(id, "edits")
      expect(changed).toMatchObject({ mode: "edits", agent: "build" })
      expect(yield* session.get(id)).toEqual(changed)
    }).pipe(with_({})))

  it.scoped("is that of the agent `plan` while that works; the previous agent works again afterwards", () =>
    Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* create("edits", "coordinator")
      expect(yield* session.setMode(id, "plan")).toMatchObject({ mode: "plan", agent: "plan" })
      expect(yield* session.setMode(id, "ask")).toMatchObject({ mode: "ask", agent: "coordinator" })
      expect(yield* create("plan")).toMatchObject({ mode: "plan", agent: "plan", agentBefore: "build" })
      const named = yield* create(undefined, "plan")
      expect(yield* session.setMode(named.id, "edits")).toMatchObject({ mode: "edits", agent: "build" })
      // A prompt for another agent ends the mode as well.
      yield* session.setMode(named.id, "plan")
      yield* Session.prompt(named.id, "go", { agent: "build" })
      expect(yield* session.get(named.id)).toMatchObject({ mode: "ask", agent: "build" })
    }).pipe(with_({ build: ["Done."] })))
})

/** The result of an edit of `a` in a session with this mode, and in one below it. */
const edits = (mode: Mode, rules?: PermissionConfig, guarded = false) =>
  Effect.gen(function*() {
    const { id } = yield* create(mode)
    yield* Session.prompt(id, "go")
    return yield* results(id)
  }).pipe(
    with_({
      build: [
        guarded ? { calls: [{ tool: "touch", input: { path: "a", guarded: true } }] } : touching("a"),
        "Done."
      ]
    }, { asks: "nobody", ...(rules === undefined ? {} : { rules }) })
  )

const asked = [expect.stringContaining("needs a person's consent")]

describe("an edit", () => {
  it.scoped("requires a question for an edit in `ask`, and none in `edits` and `auto`", () =>
    Effect.gen(function*() {
      expect(yield* edits("ask")).toEqual(asked)
      expect(yield* edits("edits")).toEqual(["touched a"])
      expect(yield* edits("auto")).toEqual(["touched a"])
    }))

  it.scoped("`edits` still asks for an edit that a rule names, and denied ones stay denied", () =>
    Effect.gen(function*() {
      expect(yield* edits("edits", { edit: { a: "ask" } })).toEqual(asked)
      expect(yield* edits("edits", { edit: "ask" })).toEqual(["touched a"])
      expect(yield* edits("edits", { edit: { "*": "deny", b: "allow" } })).toEqual([
        expect.stringMatching(/(?:a rule|plan mode) forbids/)
      ])
      expect(yield* edits("auto", { edit: { a: "deny" } })).toEqual([
        expect.stringMatching(/(?:a rule|plan mode) forbids/)
      ])
    }))

  it.scoped("never allows protected things", () =>
    Effect.gen(function*() {
      expect(yield* edits("edits", undefined, true)).toEqual(asked)
      expect(yield* edits("auto", undefined, true)).toEqual(asked)
    }))

  it.scoped("is that of the root, at any depth", () =>
    Effect.gen(function*() {
      const { id } = yield* create("edits")
      const { turn } = yield* begin(id, 0)
      yield* Fiber.join(turn)
      const [child] = yield* Effect.flatMap(Session, (session) => session.children(id))
      expect(yield* results(child!.id)).toEqual(["touched deep"])
    }).pipe(with_({ build: [tasks({ worker: "deep" }), "Done."], worker: [touching("deep"), "Done."] })))
})

describe("where nothing confines commands", () => {
  /** The services of a test in a place whose sandbox comes and goes. */
  const place = (holds: { now: boolean }) =>
    with_({ build: [touching("a"), "Done."] }, {
      asks: "nobody",
      confinement: Layer.succeed(Confinement, {
        auto: Effect.suspend(() => holds.now ? Effect.void : new ModeRefused({ message: "Install a sandbox." }))
      })
    })

  it.scoped("no tree begins in `auto`, and none is taken there; other modes are free", () =>
    Effect.gen(function*() {
      const session = yield* Session
      expect(yield* Effect.flip(create("auto"))).toMatchObject({ _tag: "ModeRefused", message: "Install a sandbox." })
      const { id } = yield* create("edits")
      expect(yield* Effect.flip(session.setMode(id, "auto"))).toMatchObject({ _tag: "ModeRefused" })
      expect((yield* session.get(id)).mode).toBe("edits")
    }).pipe(place({ now: false })))

  it.scoped("a tree that is stored in `auto` continues in `ask`", () => {
    const holds = { now: true }
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* create("auto")
      holds.now = false
      yield* Session.prompt(id, "go")
      expect(yield* results(id)).toEqual(asked)
      expect((yield* session.get(id)).mode).toBe("ask")
    }).pipe(place(holds))
  })

  it.scoped("a shell command in a prompt from a template asks, too", () => {
    const holds = { now: true }
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* create("auto")
      holds.now = false
      yield* Effect.either(Effect.flatMap(Command, (command) => command.expand(id, { name: "init", arguments: "" })))
      expect((yield* session.get(id)).mode).toBe("ask")
    }).pipe(place(holds))
  })
})

describe("a change of the mode", () => {
  it.scoped("applies to new calls immediately, and answers open questions after two seconds", () =>
    Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* create()
      const { events, turn } = yield* begin(id, 1)
      yield* session.setMode(id, "edits")
      yield* TestClock.adjust("1999 millis")
      expect(yield* waiting).toHaveLength(1)
      yield* TestClock.adjust("1 millis")
      expect((yield* Fiber.join(turn)).text).toBe("Done.")
      expect(yield* results(id)).toEqual(["touched a"])
      expect(events.of("permission.replied")).toMatchObject([{ properties: { reply: "once", by: "mode" } }])
      yield* Session.prompt(id, "again")
      expect(yield* results(id)).toEqual(["touched a", "touched b"])
    }).pipe(with_({ build: [touching("a"), "Done.", touching("b"), "Done."] })))

  it.scoped("that is reverted before that answers nothing; a later one counts", () =>
    Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* create()
      const { turn } = yield* begin(id, 1)
      yield* session.setMode(id, "edits")
      yield* TestClock.adjust("1 second")
      yield* session.setMode(id, "ask")
      yield* TestClock.adjust("10 seconds")
      expect(yield* waiting).toHaveLength(1)
      yield* session.setMode(id, "edits")
      yield* TestClock.adjust("1 second")
      yield* session.setMode(id, "auto")
      yield* TestClock.adjust("1500 millis")
      expect(yield* waiting).toHaveLength(1)
      yield* TestClock.adjust("500 millis")
      yield* Fiber.join(turn)
    }).pipe(with_({ build: [touching("a"), "Done."] })))

  it.scoped("to `plan` denies open questions", () =>
    Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* create()
      const { turn } = yield* begin(id, 1)
      yield* session.setMode(id, "plan")
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(turn)
      expect(yield* results(id)).toEqual([expect.stringContaining("A rule forbids it now.")])
    }).pipe(with_({ build: [touching("a"), "Done."], plan: ["Done."] })))
})

describe("a command that the sandbox answers for", () => {
  /** The result of a command that asks for this, in a mode and under rules. */
  const command = (mode: Mode, ask: Partial<PermissionAsk>, rules?: PermissionConfig) =>
    Effect.gen(function*() {
      const by: Array<string> = []
      const shell = tool("bash", () => Effect.succeed(by.at(-1) ?? "nothing"), {
        authorise: () =>
          Effect.succeed([{
            permission: "bash",
            patterns: ["make all"],
            exact: [],
            always: [],
            metadata: {},
            confined: true,
            ...(ask.permission === undefined ? { sandbox: "anyMode" } as const : {}),
            allowed: (each) => void by.push(each),
            ...ask
          }])
      })
      return yield* Effect.gen(function*() {
        const { id } = yield* create(mode)
        yield* Session.prompt(id, "go")
        return (yield* callsMade(id)).map(resultOf)[0]
      }).pipe(with_({
        build: [{ calls: [{ tool: "bash", input: {} }] }, "Done."],
        plan: [{ calls: [{ tool: "bash", input: {} }] }, "Done."]
      }, {
        asks: "nobody",
        tools: [touch, shell],
        ...(rules === undefined ? {} : { rules })
      }))
    }).pipe(Effect.scoped)

  const refused = expect.stringContaining("needs a person's consent")
  const denied = expect.stringMatching(/(?:a rule|plan mode) forbids/)

  it.effect("runs if nothing but the default asks for it", () =>
    Effect.gen(function*() {
      expect(yield* command("ask", {})).toEqual("sandbox")
      expect(yield* command("ask", { sandbox: "edits" })).toEqual(refused)
      expect(yield* command("edits", { sandbox: "edits" })).toEqual("sandbox")
      expect(yield* command("ask", { exact: ["make all"] })).toEqual("sandbox")
      expect(yield* command("ask", { unclear: true })).toEqual("sandbox")
    }))

  it.effect("needs a question if a rule of the user names it or may name it, and is denied if one denies it", () =>
    Effect.gen(function*() {
      expect(yield* command("edits", {}, { bash: { "make *": "ask" } })).toEqual(refused)
      expect(yield* command("edits", {}, { bash: "ask" })).toEqual(refused)
      expect(yield* command("edits", {}, { bash: { "make *": "deny" } })).toEqual(denied)
      expect(yield* command("edits", {}, { bash: { "git push *": "ask" } })).toEqual("sandbox")
      expect(yield* command("edits", { unclear: true }, { bash: { "git push *": "ask" } })).toEqual(refused)
      expect(yield* command("edits", { insists: true })).toEqual(refused)
    }))

  it.effect("counts as allowed by a rule if a rule allows all commands", () =>
    Effect.gen(function*() {
      for (const rules of [{ bash: "allow" }, "allow"] as const) {
        expect(yield* command("ask", { exact: ["make all"] }, rules)).toEqual("rule")
        expect(yield* command("ask", { unclear: true }, rules)).toEqual("rule")
      }
      expect(yield* command("ask", {}, { bash: { "make *": "allow" } })).toEqual("rule")
    }))

  it.effect("is not allowed by `auto` if it may hide a command that a rule denies", () =>
    Effect.gen(function*() {
      const denies = { bash: { "rm *": "deny" } } as const
      const unbound = { permission: "bash" } as const
      expect(yield* command("auto", { ...unbound, unclear: true })).toEqual("mode")
      expect(yield* command("auto", unbound, denies)).toEqual("mode")
      expect(yield* command("auto", { ...unbound, unclear: true }, denies)).toEqual(refused)
      expect(yield* command("auto", { unclear: true }, denies)).toEqual(refused)
    }))

  it.effect("is asked if it may hide a command that a rule denies, although a rule allows all", () =>
    Effect.gen(function*() {
      const denies = { bash: { "*": "allow", "rm *": "deny" } } as const
      const hiding = { permission: "bash", exact: [], confined: false, runsProject: ["make all"] } as const
      const why = expect.stringContaining(
        "a rule denies some commands or files, and Skein cannot see whether this line runs or reads one"
      )
      for (const mode of ["ask", "edits", "auto"] as const) {
        expect(yield* command(mode, hiding, denies)).toEqual(why)
        expect(yield* command(mode, { ...hiding, confined: true }, denies)).toEqual("rule")
        expect(yield* command(mode, hiding, { bash: { ...denies.bash, "make *": "allow" } })).toEqual("rule")
      }
      expect(yield* command("ask", hiding, { bash: "allow" })).toEqual("rule")
    }))

  it.effect("gets what it needs only from a person, the mode, or a rule that names it", () =>
    Effect.gen(function*() {
      const writing = { permission: "bash_write" } as const
      expect(yield* command("ask", writing)).toEqual(refused)
      expect(yield* command("edits", writing)).toEqual("mode")
      expect(yield* command("plan", writing)).toEqual(expect.stringContaining("plan mode forbids edits"))
      expect(yield* command("ask", { ...writing, needless: () => true })).toEqual("rule")
      expect(yield* command("ask", writing, { bash_write: { "make *": "allow" } })).toEqual("rule")
      const network = { permission: "bash_network" } as const
      expect(yield* command("edits", network)).toEqual(refused)
      expect(yield* command("auto", network)).toEqual("mode")
      const credentials = { permission: "bash_credentials" } as const
      expect(yield* command("auto", credentials)).toEqual(refused)
      expect(yield* command("auto", credentials, "allow")).toEqual(refused)
      expect(yield* command("ask", credentials, { bash_credentials: { "make *": "allow" } })).toEqual("rule")
    }))
})
