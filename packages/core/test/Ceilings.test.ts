import { describe, expect, it } from "@effect/vitest"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { Tasks } from "@skein/core/Tasks"
import type { SessionID } from "@skein/domain/Id"
import { fromConfig } from "@skein/domain/Rule"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { callsMade, childrenOf, resultOf, root, taskTools } from "./support/tree.ts"

const asks = (permission: string, key: string) => ({
  permission,
  authorise: (input: SkeinTest.TestInput) =>
    Effect.succeed([{
      permission,
      patterns: [String(input[key])],
      // A line of several commands that was not parsed.
      exact: String(input[key]).includes(";") ? [String(input[key])] : [],
      always: ["*"],
      metadata: {}
    }])
})
const write = SkeinTest.tool("write", ({ path }) => Effect.succeed(`wrote ${String(path)}`), asks("edit", "path"))
const bash = SkeinTest.tool("bash", ({ command }) => Effect.succeed(`ran ${String(command)}`), asks("bash", "command"))
const todo = ["todowrite", "todoread"].map((name) => SkeinTest.tool(name, () => Effect.succeed("noted")))
const tools = [write, bash, ...todo]

const writes = (...paths: ReadonlyArray<string>) => Scripted.call("write", ...paths.map((path) => ({ path })))
const runs = (...commands: ReadonlyArray<string>) => Scripted.call("bash", ...commands.map((command) => ({ command })))
const forbidden = expect.stringMatching(/(?:a rule|plan mode) forbids/)

const worker = SkeinTest.agent("worker")
const lead = SkeinTest.agent("lead", { permission: { task: "allow" } })
const agents = [worker, lead]

/** The results of all calls of one agent in a tree. */
const resultsOf = Effect.fnUntraced(function*(rootID: SessionID, ...path: ReadonlyArray<string>) {
  let id = rootID
  for (const name of path) id = (yield* childrenOf(id)).find((child) => child.agent === name)?.id ?? id
  return (yield* callsMade(id)).map(resultOf)
})

/** Prompts an agent that follows its script. */
const turn = <A, E, R>(
  agent: string,
  scripts: Parameters<typeof Scripted.make>[0],
  look: (id: SessionID) => Effect.Effect<A, E, R>,
  options: SkeinTest.SkeinTestOptions = {}
) =>
  Effect.gen(function*() {
    const { id } = yield* root({ agent })
    yield* Session.prompt(id, "Go")
    return yield* look(id)
  }).pipe(
    Effect.provide(SkeinTest.layer(scripts, { agents, tools, rules: { edit: "allow", bash: "allow" }, ...options }))
  )

describe("plan", () => {
  it.effect("writes its plan and nothing else, whatever all agents are allowed", () =>
    turn(
      "plan",
      { plan: [writes("src/a.ts", ".skein/plans/x.md", ".skein/plans/../../a.ts"), "ok"] },
      (id) =>
        Effect.gen(function*() {
          expect(yield* resultsOf(id)).toEqual([forbidden, "wrote .skein/plans/x.md", forbidden])
        })
    ))

  it.effect("runs only read-only commands in a shell", () =>
    turn("plan", { plan: [runs("ls -la", "touch a", "ls -la; touch a", "pwd"), "ok"] }, (id) =>
      Effect.gen(function*() {
        expect(yield* resultsOf(id)).toEqual(["ran ls -la", forbidden, forbidden, "ran pwd"])
      }), { rules: { edit: "allow" } }))

  it.effect("cannot write through a child either, nor through a child's child", () =>
    turn(
      "plan",
      {
        plan: [Scripted.tasks({ lead: "p" }), "ok"],
        lead: [{ calls: [...(Scripted.tasks({ worker: "p" }).calls ?? []), ...(writes("b.ts").calls ?? [])] }, "ok"],
        worker: [writes("a.ts", ".skein/plans/y.md"), "ok"]
      },
      (id) =>
        Effect.gen(function*() {
          expect((yield* resultsOf(id, "lead"))[1]).toEqual(forbidden)
          expect(yield* resultsOf(id, "lead", "worker")).toEqual([forbidden, "wrote .skein/plans/y.md"])
        })
    ))

  it.effect("cannot write because of an answer to another agent", () =>
    Effect.gen(function*() {
      const permission = yield* Permission
      const session = yield* Session
      const { id } = yield* root()
      const events = yield* record()
      const fiber = yield* Effect.fork(session.prompt(id, "Go"))
      const asked = yield* events.first("permission.asked")
      yield* permission.reply(asked.properties.id, "always", { scope: "project" })
      yield* Fiber.join(fiber)
      yield* session.prompt(id, "Plan", { agent: "plan" })
      expect(yield* resultsOf(id)).toEqual(["wrote a.ts", forbidden])
    }).pipe(
      Effect.scoped,
      Effect.provide(SkeinTest.layer(
        { build: [writes("a.ts"), "ok"], plan: [writes("a.ts"), "ok"] },
        { agents, tools: [write], asks: "person" }
      ))
    ))
})

describe("the ceiling of an agent", () => {
  it.effect("is what its definition denies, and applies to its children whatever theirs allow (S07)", () => {
    const free = SkeinTest.agent("worker", { permission: { bash: { "*": "allow", ls: "allow" } } })
    const strict = SkeinTest.agent("strict", { permission: { task: "allow", bash: "deny" } })
    return turn(
      "build",
      {
        build: [Scripted.tasks({ strict: "p" }), "ok"],
        strict: [Scripted.tasks({ worker: "p" }), "ok"],
        worker: [{ calls: [...(runs("ls").calls ?? []), ...(writes("a").calls ?? [])] }, "ok"]
      },
      (id) =>
        Effect.gen(function*() {
          expect(yield* resultsOf(id, "strict", "worker")).toEqual([
            expect.stringContaining("There is no tool \"bash\""),
            "wrote a"
          ])
        }),
      { agents: [lead, free, strict] }
    )
  })

  it.effect("is what it declares, if it does: a coordinator's workers edit, it does not", () =>
    turn(
      "coordinator",
      {
        coordinator: [
          { calls: [...(Scripted.tasks({ worker: "p" }).calls ?? []), ...(writes("a").calls ?? [])] },
          "ok"
        ],
        worker: [writes("a"), "ok"]
      },
      (id) =>
        Effect.gen(function*() {
          expect((yield* resultsOf(id))[1]).toContain("There is no tool \"write\"")
          expect(yield* resultsOf(id, "worker")).toEqual(["wrote a"])
        })
    ))

  it.effect("does not widen what a child's own definition denies", () => {
    const meek = SkeinTest.agent("meek", { permission: { edit: "deny" } })
    return turn(
      "build",
      { build: [Scripted.tasks({ meek: "p" }), "ok"], meek: [writes("a"), "ok"] },
      (id) =>
        Effect.gen(function*() {
          expect((yield* resultsOf(id, "meek"))[0]).toContain("There is no tool \"write\"")
        }),
      { agents: [meek] }
    )
  })

  it.effect("keeps asks as asks below: a child needs permission where its parent may act without", () => {
    const asking = SkeinTest.agent("asking", { permission: { edit: "ask" } })
    return turn(
      "build",
      { build: [Scripted.tasks({ asking: "p" }), "ok"], asking: [writes("a"), "ok"] },
      (id) =>
        Effect.gen(function*() {
          expect((yield* resultsOf(id, "asking"))[0]).toContain("Skein cannot ask anyone here")
        }),
      { agents: [asking] }
    )
  })
})

describe("the ceiling of a session", () => {
  it.effect("applies to it and everything below it, whatever agents are allowed", () => {
    const scripts = {
      build: [
        { calls: [...(writes("a", "docs/a").calls ?? []), ...(Scripted.tasks({ worker: "p" }).calls ?? [])] },
        "ok"
      ],
      worker: [writes("a", "docs/a"), "ok"]
    }
    return Effect.gen(function*() {
      const { id } = yield* root({ permission: fromConfig({ edit: { "*": "deny", "docs/*": "allow" } }) })
      yield* Session.prompt(id, "Go")
      expect((yield* resultsOf(id)).slice(0, 2)).toEqual([forbidden, "wrote docs/a"])
      expect(yield* resultsOf(id, "worker")).toEqual([forbidden, "wrote docs/a"])
    }).pipe(Effect.provide(SkeinTest.layer(scripts, { agents, tools, rules: { edit: "allow" } })))
  })

  it.effect("is current: it narrows a child's next call when an agent above changes", () => {
    const script = Scripted.make({
      worker: [writes("before"), { ...writes("after"), delay: { first: 1_000 } }, "ok"],
      plan: ["planning"]
    })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const { id } = yield* root()
      const fiber = yield* Effect.fork(
        tasks.run({ parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true })
      )
      yield* TestClock.adjust(500)
      yield* Session.prompt(id, "Plan", { agent: "plan" })
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
      expect(yield* resultsOf(id, "worker")).toEqual(["wrote before", forbidden])
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, tools, rules: { edit: "allow" } })))
  })

  it.effect("does not widen for a task that waits for its slot", () => {
    const script = Scripted.make({
      worker: (request) =>
        request.origin.step === 0 ? { ...writes(Scripted.lastText(request)), delay: { first: 1_000 } } : "ok",
      build: ["building"]
    })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const { id } = yield* root({ agent: "plan" })
      const request = { parentID: id, agent: "worker", description: "d", byUser: true }
      const fiber = yield* Effect.fork(
        Effect.forEach(["first", "second"], (prompt) => tasks.run({ ...request, prompt }), { concurrency: 2 })
      )
      yield* TestClock.adjust(500)
      yield* Session.prompt(id, "Build now", { agent: "build" })
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
      const calls = yield* Effect.forEach(yield* childrenOf(id), (child) => callsMade(child.id))
      expect(calls.map(([call]) => resultOf(call!))).toEqual([forbidden, forbidden])
    }).pipe(
      Effect.provide(
        SkeinTest.layer(script, {
          agents,
          tools,
          rules: { edit: "allow" },
          config: { limits: { concurrency: 1 } }
        })
      )
    )
  })

  it.effect("does not widen for a running task", () => {
    const script = Scripted.make({
      worker: [
        writes("before"),
        { ...writes("after"), delay: { first: 1_000 } },
        { ...writes("later"), delay: { first: 1_000 } },
        "ok",
        writes("resumed"),
        "ok"
      ],
      build: ["building"]
    })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const { id } = yield* root({ agent: "plan" })
      const request = { parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true }
      const fiber = yield* Effect.fork(tasks.run(request))
      yield* TestClock.adjust(500)
      yield* Session.prompt(id, "Build now", { agent: "build" })
      yield* TestClock.adjust("1 minute")
      const { taskID } = yield* Fiber.join(fiber)
      expect(yield* resultsOf(id, "worker")).toEqual([forbidden, forbidden, forbidden])
      yield* tasks.run({ ...request, taskID })
      expect((yield* resultsOf(id, "worker")).slice(3)).toEqual(["wrote resumed"])
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, tools, rules: { edit: "allow" } })))
  })
})

describe("a child", () => {
  it.effect("keeps no todos and starts no tasks, unless its own definition has rules for that", () => {
    const free = SkeinTest.agent("free", { permission: { todowrite: "allow", task: { worker: "allow" } } })
    const asking = SkeinTest.agent("asking", { permission: { todoread: "ask" } })
    const script = Scripted.make({
      build: [Scripted.tasks({ worker: "p" }, { free: "p" }, { asking: "p" }), "ok"],
      "*": ["ok"]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      const offered = (agent: string) =>
        script.requests.find(({ origin }) => origin.path.at(-1) === agent)?.tools.map((tool) => tool.name)
      expect(offered("build")).toEqual(["bash", ...taskTools, "todoread", "todowrite", "write"])
      expect(offered("worker")).toEqual(["bash", "write"])
      expect(offered("free")).toEqual(["bash", ...taskTools, "todowrite", "write"])
      expect(offered("asking")).toEqual(["bash", "todoread", "write"])
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents: [worker, free, asking], tools })))
  })
})

describe("a user's mention of an agent", () => {
  const consent = (rules: SkeinTest.SkeinTestOptions["rules"]) =>
    Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      yield* session.prompt(id, [{ type: "text", text: "Ask @worker" }, { type: "agent", name: "worker" }])
      yield* session.prompt(id, "Again, @worker")
      return yield* resultsOf(id)
    }).pipe(Effect.provide(SkeinTest.layer({
      build: [Scripted.tasks({ worker: "@lead" }, { lead: "p" }), "ok", Scripted.tasks({ worker: "p" }), "ok"],
      worker: ["found"],
      lead: ["found"]
    }, { agents, rules: rules ?? {} })))

  it.effect("lifts the question for that agent in that turn, and nothing else", () =>
    Effect.gen(function*() {
      const nobody = expect.stringContaining("needs a person's consent")
      expect(yield* consent({ task: "ask" })).toEqual([expect.stringContaining("found"), nobody, nobody])
    }))

  it.effect("lifts no denial", () =>
    Effect.gen(function*() {
      const results = yield* consent({ task: { "*": "allow", worker: "deny" } })
      expect(results[0]).toContain("Permission denied: a rule forbids task (worker)")
    }))
})

describe("a task that is denied", () => {
  it.effect("names what the person rejected, not an earlier denial by a rule", () =>
    Effect.gen(function*() {
      const permission = yield* Permission
      const { id } = yield* root()
      const events = yield* record()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      const asked = yield* events.first("permission.asked")
      yield* permission.reply(asked.properties.id, "reject")
      yield* Fiber.join(fiber)
      expect((yield* resultsOf(id))[0]).toContain(
        "state: denied\n\n<task_error>\nThe user rejected a request of the task for permission edit.\n</task_error>"
      )
    }).pipe(
      Effect.scoped,
      Effect.provide(SkeinTest.layer(
        {
          build: [Scripted.tasks({ worker: "p" }), "ok"],
          worker: [{ calls: [...(runs("rm").calls ?? []), ...(writes("a").calls ?? [])] }, "never"]
        },
        { agents, tools, asks: "person", rules: { bash: { "*": "allow", rm: "deny" } } }
      ))
    ))

  it.effect("for its own loop, without a person to ask, has failed", () => {
    const again = Scripted.call("todoread", {})
    const noting = SkeinTest.agent("noting", { permission: { todoread: "allow" } })
    return turn(
      "build",
      { build: [Scripted.tasks({ noting: "p" }), "ok"], noting: [again, again, again, "never"] },
      (id) =>
        Effect.gen(function*() {
          const [results] = yield* resultsOf(id)
          expect(results).toContain("state: failed")
          expect(results).toContain("doom_loop (todoread)")
          expect(results).not.toContain("The user rejected")
        }),
      { agents: [noting] }
    )
  })
})
