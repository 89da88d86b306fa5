import { describe, expect, it } from "@effect/vitest"
import { type Hook, Hooks, on } from "@skein/core/Hooks"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { Tasks } from "@skein/core/Tasks"
import { type HookEvent, hookEvents, type HookPayload, hookPayloads } from "@skein/domain/Hook"
import { record } from "@skein/testing/RecordedEvents"
import { call, fault, make, type Script, tasks } from "@skein/testing/ScriptedProvider"
import { agent, layer, tool } from "@skein/testing/SkeinTest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { callsMade, childrenOf, expectStill, messagesOf, resultOf, root } from "./support/tree.ts"

/** Needs permission for the given path. */
const touch = tool("touch", ({ path }) => Effect.succeed(`touched ${String(path)}`), {
  authorise: ({ path }) =>
    Effect.succeed([{ permission: "touch", patterns: [String(path)], always: [String(path)], metadata: {} }])
})

const echo = tool("echo", ({ words }) => Effect.succeed(String(words)))

/** Hooks that only record their events. */
const listening = (events: ReadonlyArray<HookEvent> = hookEvents) => {
  const payloads: Array<HookPayload> = []
  const hooks: ReadonlyArray<Hook> = events.map((event) =>
    on(event, (payload) => Effect.sync(() => void payloads.push(payload)))
  )
  return { payloads, hooks, names: () => payloads.map(({ event, path }) => `${event} ${path.join("/")}`) }
}

const with_ = (
  script: Readonly<Record<string, Script>>,
  hooks: ReadonlyArray<Hook>,
  asks: "person" | "nobody" | "auto" = "nobody"
) => Effect.provide(layer(make(script), { hooks, asks, tools: [echo, touch], agents: [agent("worker")] }))

describe("every event", () => {
  it.scoped("is called at each event with a payload of its schema, in subagents too", () => {
    const { hooks, names, payloads } = listening()
    return Effect.gen(function*() {
      const { id } = yield* root()
      const events = yield* record()
      const turn = yield* Effect.fork(Session.prompt(id, "Go"))
      const asked = yield* events.first("permission.asked")
      yield* (yield* Permission).reply(asked.properties.id, "once")
      yield* Fiber.join(turn)
      expect(names()).toEqual([
        "SessionStart build",
        "UserPromptSubmit build",
        "PreToolUse build",
        "SubagentStart build/worker",
        "PreToolUse build/worker",
        "PermissionRequest build/worker",
        "Notification build/worker",
        "PostToolUse build/worker",
        "SubagentStop build/worker",
        "PostToolUse build",
        "Stop build"
      ])
      // Nothing is compacted or closed here: CompactionNow.test.ts and HookEnds.test.ts test that.
      for (const event of hookEvents.filter((each) => each !== "PreCompact" && each !== "SessionEnd")) {
        const payload = payloads.find((each) => each.event === event)
        expect(payload).toMatchObject({ event })
        Schema.decodeUnknownSync(hookPayloads[event] as Schema.Schema<HookPayload, unknown>)(payload, {
          onExcessProperty: "error"
        })
      }
      const [child] = yield* childrenOf(id)
      const at = { sessionID: child!.id, rootID: id, path: ["build", "worker"], cwd: "/work" }
      const of = { tool: "touch", input: { path: "a" }, callID: expect.any(String) as string }
      expect(payloads.filter(({ path }) => path.length === 2)).toEqual([
        { event: "SubagentStart", ...at, prompt: "touch it" },
        { event: "PreToolUse", ...at, ...of },
        { event: "PermissionRequest", ...at, ...of, request: asked.properties },
        { event: "Notification", ...at, ...of, request: asked.properties },
        { event: "PostToolUse", ...at, ...of, output: "touched a" },
        { event: "SubagentStop", ...at, output: "did it" }
      ])
      expect(payloads.at(-1)).toMatchObject({ output: "all done" })
    }).pipe(
      with_(
        { build: [tasks({ worker: "touch it" }), "all done"], worker: [call("touch", { path: "a" }), "did it"] },
        hooks,
        "person"
      )
    )
  })

  it.effect("is called once for the session, and once for each prompt and each turn", () => {
    const { hooks, names } = listening(["SessionStart", "UserPromptSubmit", "Stop"])
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "One")
      yield* Session.prompt(id, "Two")
      expect(names()).toEqual([
        "SessionStart build",
        "UserPromptSubmit build",
        "Stop build",
        "UserPromptSubmit build",
        "Stop build"
      ])
    }).pipe(with_({ build: ["fine"] }, hooks))
  })

  it.effect("is called around subtasks and failed calls", () => {
    const { hooks, payloads } = listening([
      "UserPromptSubmit",
      "PreToolUse",
      "SubagentStart",
      "SubagentStop",
      "PostToolUse"
    ])
    return Effect.gen(function*() {
      const { id } = yield* root()
      const part = { type: "subtask", prompt: "do it", description: "d", agent: "worker" } as const
      yield* Session.prompt(id, [part, { ...part, agent: "nobody" }])
      const of = (event: HookEvent) => payloads.filter((each) => each.event === event)
      expect(of("UserPromptSubmit")).toMatchObject([{ prompt: "do it\ndo it" }])
      expect(of("PreToolUse")).toMatchObject([
        { tool: "task", input: { subagent_type: "worker" } },
        { tool: "task", input: { subagent_type: "nobody" } }
      ])
      expect(of("SubagentStart")).toMatchObject([{ path: ["build", "worker"] }])
      expect(of("SubagentStop")).toMatchObject([{ output: "done" }])
      expect(of("PostToolUse")).toMatchObject([
        { failed: true, output: expect.stringMatching(/^Tool execution failed: .*nobody/) },
        { output: expect.stringContaining("done") }
      ])
    }).pipe(with_({ build: ["summed up"], worker: ["done"] }, hooks))
  })

  it.effect("at an end gets failures as such", () => {
    const { hooks, payloads } = listening(["Stop", "SubagentStop"])
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Effect.flip(Session.prompt(id, "Go"))
      expect(payloads).toMatchObject([
        { event: "SubagentStop", failed: true },
        { event: "Stop", failed: true, output: "no way" }
      ])
    }).pipe(
      with_({ build: [tasks({ worker: "x" }), fault("auth", { message: "no way" })], worker: [fault("auth")] }, hooks)
    )
  })

  it.effect("is called for a permission request that nobody can answer", () => {
    const { hooks, names } = listening(["Notification"])
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      expect(names()).toEqual(["Notification build"])
    }).pipe(with_({ build: [call("touch", { path: "a" }), "done"] }, hooks))
  })

  it.effect("is called for background runs, before the session is idle", () => {
    const { hooks, names } = listening(["SubagentStop"])
    return Effect.gen(function*() {
      const { id } = yield* root()
      const run = { parentID: id, agent: "worker", description: "d", prompt: "p", background: true, byUser: true }
      yield* (yield* Tasks).run(run)
      yield* (yield* Session).untilIdle(id)
      expect(names()).toEqual(["SubagentStop build/worker"])
    }).pipe(with_({ build: ["read it"], worker: ["done"] }, hooks))
  })
})

describe("a matcher", () => {
  it.effect("matches tools by name or permission key, in any case, and agents if there is no tool", () => {
    const payloads: Array<string> = []
    const tell = (name: string) => (payload: HookPayload) =>
      Effect.sync(() => void payloads.push(`${name} ${"tool" in payload ? payload.tool : payload.path.at(-1)}`))
    const hooks = [
      on("PreToolUse", tell("name"), { matcher: "Echo|glob" }),
      on("PreToolUse", tell("wildcard"), { matcher: "t?u*" }),
      on("tool.execute.before", tell("all"), { matcher: "" }),
      on("tool.execute.after", tell("key"), { matcher: "touching" }),
      on("SubagentStart", tell("agent"), { matcher: "work*" }),
      on("SubagentStart", tell("other"), { matcher: "explore" })
    ]
    const keyed = { ...touch, permission: "touching" }
    const script = make({
      build: [call("echo", { words: "w" }), call("touch", { path: "a" }), tasks({ worker: "p" }), "done"],
      worker: ["done"]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      expect(payloads).toEqual([
        "name echo",
        "all echo",
        "wildcard touch",
        "all touch",
        "key touch",
        "all task",
        "agent worker"
      ])
    }).pipe(
      Effect.provide(
        layer(script, { hooks, tools: [echo, keyed], rules: { "*": "allow" }, agents: [agent("worker")] })
      )
    )
  })
})

it.effect("hooks work with services of the program", () => {
  const Book = Context.GenericTag<Array<string>>("Book")
  const hook = on("Stop", ({ output }) => Effect.map(Book, (book) => void book.push(output)))
  const book: Array<string> = []
  return Effect.gen(function*() {
    const hooks = yield* Hooks
    const { id } = yield* root()
    yield* hooks.stop({ sessionID: id, rootID: id, path: ["build"], cwd: "/" }, { output: "the end" })
    expect(book).toEqual(["the end"])
  }).pipe(
    Effect.provide(Layer.provide(Hooks.layer([hook]), Layer.succeed(Book, book))),
    Effect.provide(layer({}))
  )
})

describe("a hook that hangs", () => {
  const hangs = (event: HookEvent) => {
    const begun = Effect.unsafeMakeLatch()
    return { begun: begun.await, hook: on(event, () => Effect.zipRight(begun.open, Effect.never)) }
  }

  it.effect("is interrupted when its session is stopped", () =>
    Effect.forEach(["PreToolUse", "PostToolUse", "SubagentStart", "SubagentStop", "Stop"] as const, (event) => {
      const script = make({
        build: [call("echo", { words: "w" }), tasks({ worker: "p" }), "done"],
        worker: ["done"]
      })
      const { begun, hook } = hangs(event)
      return Effect.gen(function*() {
        const { id } = yield* root()
        const turn = yield* Effect.fork(Session.prompt(id, "Go"))
        yield* begun
        yield* (yield* Session).stop(id)
        yield* Fiber.await(turn)
        yield* expectStill(id, script)
        return (yield* callsMade(id)).map(resultOf)
      }).pipe(Effect.provide(layer(script, { hooks: [hook], tools: [echo], agents: [agent("worker")] })))
    }).pipe(Effect.map(([before, after]) => {
      expect(before).toEqual([expect.stringContaining("not run")])
      expect(after).toEqual([expect.stringContaining("The call was made. It was stopped while a hook")])
    })))

  it.effect("is interrupted with its prompt, of which nothing is kept", () => {
    const script = make({ build: ["done"] })
    const { begun, hook } = hangs("UserPromptSubmit")
    return Effect.gen(function*() {
      const { id } = yield* root()
      const turn = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* begun
      yield* Fiber.interrupt(turn)
      expect(yield* messagesOf(id)).toEqual([])
      yield* expectStill(id, script)
    }).pipe(Effect.provide(layer(script, { hooks: [hook] })))
  })

  it.scoped("does not delay the question that it is notified of, or its answer", () => {
    const { begun, hook } = hangs("Notification")
    return Effect.gen(function*() {
      const { id } = yield* root()
      const events = yield* record()
      const turn = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* begun
      const { properties } = yield* events.first("permission.asked")
      yield* (yield* Permission).reply(properties.id, "once")
      expect((yield* Fiber.join(turn)).text).toBe("done")
    }).pipe(with_({ build: [call("touch", { path: "a" }), "done"] }, [hook], "person"))
  })
})
