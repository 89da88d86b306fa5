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
import { callsMade, childrenOf, expectStill, messagesOf, root, said } from "./support/tree.ts"

/** Needs consent for the path that it is given. */
const touch = tool("touch", ({ path }) => Effect.succeed(`touched ${String(path)}`), {
  authorise: ({ path }) =>
    Effect.succeed([{ permission: "touch", patterns: [String(path)], always: [String(path)], metadata: {} }])
})

const echo = tool("echo", ({ words }) => Effect.succeed(String(words)))

/** Hooks that listen to events and say nothing. */
const listening = (events: ReadonlyArray<HookEvent> = hookEvents) => {
  const told: Array<HookPayload> = []
  const hooks: ReadonlyArray<Hook> = events.map((event) =>
    on(event, (payload) => Effect.sync(() => void told.push(payload)))
  )
  return { told, hooks, names: () => told.map(({ event, path }) => `${event} ${path.join("/")}`) }
}

const with_ = (
  script: Readonly<Record<string, Script>>,
  hooks: ReadonlyArray<Hook>,
  asks: "person" | "nobody" | "auto" = "nobody"
) => Effect.provide(layer(make(script), { hooks, asks, tools: [echo, touch], agents: [agent("worker")] }))

describe("every event", () => {
  it.scoped("is told at its moment, with what its schema says, also of subagents", () => {
    const { hooks, names, told } = listening()
    return Effect.gen(function*() {
      const { id } = yield* root()
      const heard = yield* record()
      const turn = yield* Effect.fork(Session.prompt(id, "Go"))
      const asked = yield* heard.first("permission.asked")
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
      // Nothing is shortened or closed here: CompactionNow.test.ts and HookEnds.test.ts have that.
      for (const event of hookEvents.filter((each) => each !== "PreCompact" && each !== "SessionEnd")) {
        const payload = told.find((each) => each.event === event)
        expect(payload, event).toBeDefined()
        Schema.decodeUnknownSync(hookPayloads[event] as Schema.Schema<HookPayload, unknown>)(payload, {
          onExcessProperty: "error"
        })
      }
      const [child] = yield* childrenOf(id)
      const at = { sessionID: child!.id, rootID: id, path: ["build", "worker"], cwd: "/work" }
      const of = { tool: "touch", input: { path: "a" }, callID: expect.any(String) as string }
      expect(told.filter(({ path }) => path.length === 2)).toEqual([
        { event: "SubagentStart", ...at, prompt: "touch it" },
        { event: "PreToolUse", ...at, ...of },
        { event: "PermissionRequest", ...at, ...of, request: asked.properties },
        { event: "Notification", ...at, ...of, request: asked.properties },
        { event: "PostToolUse", ...at, ...of, output: "touched a" },
        { event: "SubagentStop", ...at, output: "did it" }
      ])
      expect(told.at(-1)).toMatchObject({ output: "all done" })
    }).pipe(
      with_(
        { build: [tasks({ worker: "touch it" }), "all done"], worker: [call("touch", { path: "a" }), "did it"] },
        hooks,
        "person"
      )
    )
  })

  it.effect("of a session is told once for the session, and once for each prompt and each turn", () => {
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

  it.effect("around a call is told of parts that are subtasks, and of calls that fail", () => {
    const { hooks, told } = listening([
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
      const of = (event: HookEvent) => told.filter((each) => each.event === event)
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

  it.effect("that ends something tells of failures as such", () => {
    const { hooks, told } = listening(["Stop", "SubagentStop"])
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Effect.flip(Session.prompt(id, "Go"))
      expect(told).toMatchObject([
        { event: "SubagentStop", failed: true },
        { event: "Stop", failed: true, output: "no way" }
      ])
    }).pipe(
      with_({ build: [tasks({ worker: "x" }), fault("auth", { message: "no way" })], worker: [fault("auth")] }, hooks)
    )
  })

  it.effect("is told of an ask that nobody can be asked", () => {
    const { hooks, names } = listening(["Notification"])
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      expect(names()).toEqual(["Notification build"])
    }).pipe(with_({ build: [call("touch", { path: "a" }), "done"] }, hooks))
  })

  it.effect("is told of background runs, before the session is at rest", () => {
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
  it.effect("means tools by name or permission key, whatever their case, and agents where there is no tool", () => {
    const told: Array<string> = []
    const tell = (name: string) => (payload: HookPayload) =>
      Effect.sync(() => void told.push(`${name} ${"tool" in payload ? payload.tool : payload.path.at(-1)}`))
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
      expect(told).toEqual([
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

  it.effect("is given up when its session is stopped", () =>
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
        return (yield* callsMade(id)).map(said)
      }).pipe(Effect.provide(layer(script, { hooks: [hook], tools: [echo], agents: [agent("worker")] })))
    }).pipe(Effect.map(([before, after]) => {
      expect(before).toEqual([expect.stringContaining("not run")])
      expect(after).toEqual([expect.stringContaining("The call was made. It was stopped while a hook")])
    })))

  it.effect("is given up with its prompt, of which nothing is kept", () => {
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

  it.scoped("keeps nobody from seeing or answering the question that it is told of", () => {
    const { begun, hook } = hangs("Notification")
    return Effect.gen(function*() {
      const { id } = yield* root()
      const heard = yield* record()
      const turn = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* begun
      const { properties } = yield* heard.first("permission.asked")
      yield* (yield* Permission).reply(properties.id, "once")
      expect((yield* Fiber.join(turn)).text).toBe("done")
    }).pipe(with_({ build: [call("touch", { path: "a" }), "done"] }, [hook], "person"))
  })
})
