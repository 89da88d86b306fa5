import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import * as Task from "@skein/core/Task"
import { Tasks } from "@skein/core/Tasks"
import { define, type ToolContext, ToolError, Tools } from "@skein/core/Tool"
import type { Budget } from "@skein/domain/Budget"
import type { Limits } from "@skein/domain/ConfigInfo"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { callsMade, childrenOf, expectStill, resultOf, root, treeOf } from "./support/tree.ts"

const Point = Schema.Struct({ at: Schema.Date, x: Schema.Number })
const agents = [
  SkeinTest.agent("worker"),
  SkeinTest.agent("inner"),
  SkeinTest.agent("ghost", { hidden: true }),
  SkeinTest.agent("chief", { mode: "primary" })
]

/** A tool that runs tasks for its caller, added once the services that it needs exist. */
const asking = (
  name: string,
  run: (context: ToolContext) => Effect.Effect<unknown, Task.TaskError, Session>,
  waits = false
) =>
  Layer.scopedDiscard(Effect.gen(function*() {
    const tools = yield* Tools
    const services = yield* Effect.context<Session>()
    yield* tools.register(define({
      name,
      describe: `The tool ${name} of a test.`,
      parameters: Schema.Struct({ n: Schema.Number }),
      effect: "safe",
      waits,
      title: () => name,
      authorise: () => Effect.succeed([]),
      execute: (_, context) =>
        run(context).pipe(
          Effect.provide(services),
          Effect.mapError(({ message }) => new ToolError({ kind: "task", message })),
          Effect.map((value) => ({ title: name, output: JSON.stringify(value), metadata: {} }))
        )
    }))
  }))

type Added = ReturnType<typeof asking>

const provide = (
  scripts: SkeinTest.Scripts,
  options: SkeinTest.SkeinTestOptions = {},
  ...tools: ReadonlyArray<Added>
) => {
  const added = tools.reduce<Added>((all, tool) => Layer.merge(all, tool), Layer.empty)
  return Effect.provide(Layer.provideMerge(added, SkeinTest.layer(scripts, { agents, ...options })))
}

const answer = (value: unknown) => Scripted.call("final_answer", { answer: value })

describe("a task of a program below a session", () => {
  it.effect("is a child of it, published and stored like a model's", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const events = yield* record()
      expect(yield* Task.run({ parentID: id, agent: "worker", prompt: "p", description: "Look" })).toBe("found")
      const [child] = yield* childrenOf(id)
      expect(child).toMatchObject({ parentID: id, depth: 1, title: "Look (@worker subagent)", directory: "/work" })
      expect(events.of("subagent.created").map(({ properties }) => properties.path)).toEqual([["build", "worker"]])
      expect(events.of("subagent.completed")[0]?.properties.outcome).toMatchObject({
        status: "completed",
        text: "found"
      })
      const tasks = yield* Tasks
      expect(yield* tasks.status({ parentID: id })).toMatchObject([{ taskID: child?.id, state: "settled" }])
    }).pipe(Effect.scoped, provide({ worker: ["found"] })))

  it.effect("returns a value of the requested schema; its outcome is the JSON of it", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const events = yield* record()
      const point = yield* Task.run({ parentID: id, agent: "worker", prompt: "p", output: Point })
      expect(point.at.getTime() + point.x).toBe(2)
      expect(events.of("subagent.completed")[0]?.properties.outcome.text).toBe(
        "{\"at\":\"1970-01-01T00:00:00.000Z\",\"x\":2}"
      )
    }).pipe(Effect.scoped, provide({ worker: [answer({ at: "1970-01-01T00:00:00.000Z", x: 2 })] })))

  it.effect("may use any agent that is not hidden", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      expect(yield* Task.run({ parentID: id, agent: "chief", prompt: "p" })).toBe("done")
    }).pipe(provide({ chief: ["done"] })))

  it.effect.each<[string, { readonly agent?: string; readonly budget?: Budget }, Partial<Limits>, string]>([
    ["an agent that is hidden", { agent: "ghost" }, {}, "unknown_agent"],
    ["an unknown agent", { agent: "nobody" }, {}, "unknown_agent"],
    ["the limit of a program's tasks", {}, { program_tasks: 0 }, "limit"],
    ["an invalid budget", { budget: { usd: "-1" } }, {}, "budget"]
  ])("is refused for %s", ([, more, limits, reason]) =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const error = yield* Effect.flip(Task.run({ parentID: id, agent: "worker", prompt: "p", ...more }))
      expect(error).toMatchObject({ _tag: "TaskRefused", reason })
      expect("taskID" in error).toBe(false)
      expect(yield* childrenOf(id)).toEqual([])
    }).pipe(
      provide({ worker: ["never"] }, { config: { limits } })
    ))

  it.effect("is not bound by the depth and the number that models may reach", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const ask = Task.run({ parentID: id, agent: "worker", prompt: "p" })
      expect(yield* Effect.all([ask, ask])).toEqual(["found", "found"])
    }).pipe(provide({ worker: ["found", "found"] }, { config: { limits: { subagent_depth: 0, max_tasks: 0 } } })))

  it.effect("does not relax its rules for the caller", () => {
    const script = Scripted.make({ worker: ["ok"] })
    const permission = [
      { permission: "task", pattern: "*", action: "allow" },
      { permission: "bash", pattern: "*", action: "deny" }
    ] as const
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Task.run({ parentID: id, agent: "worker", prompt: "p", permission })
      expect(script.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([[]])
    }).pipe(provide(script, { tools: [SkeinTest.tool("bash", () => Effect.succeed("run"))] }))
  })

  it.effect.each(
    [
      ["its timeout", { timeout: 1_000 }, ["Halfway", "TaskTimedOut", "timeout"]],
      ["its budget", { budget: { steps: 1 } }, ["Halfway", "BudgetExhausted", "steps"]]
    ] as const
  )("fails with a typed error at %s, with its partial result", ([, more, [text, _tag, which]]) => {
    const script = Scripted.make({ worker: [{ ...Scripted.call("slow", {}), text: "Halfway" }] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const fiber = yield* Effect.fork(Effect.flip(Task.run({ parentID: id, agent: "worker", prompt: "p", ...more })))
      yield* TestClock.adjust("1 minute")
      const error = yield* Fiber.join(fiber)
      const [child] = yield* childrenOf(id)
      expect(error).toMatchObject({ _tag, which, text, taskID: child?.id })
      yield* expectStill(id, script)
    }).pipe(provide(script, { tools: [SkeinTest.tool("slow", () => Effect.as(Effect.sleep(30_000), "slow"))] }))
  })

  it.effect("fails with the last answer if that never matches the schema", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const error = yield* Effect.flip(Task.run({ parentID: id, agent: "worker", prompt: "p", output: Point }))
      expect(error).toMatchObject({ _tag: "InvalidAnswer", last: "{\"answer\":4}" })
    }).pipe(provide({ worker: [answer(4)] })))

  it.effect("ends with its requests when it loses a race, and when the caller is stopped", () => {
    const script = Scripted.make({
      worker: (request) => ({ text: "me", delay: { first: Scripted.lastText(request) === "quick" ? 1_000 : 60_000 } })
    })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      const ask = (prompt: string) => Task.run({ parentID: id, agent: "worker", prompt })
      const race = yield* Effect.fork(Effect.raceAll([ask("slow"), ask("quick")]))
      yield* TestClock.adjust(1_000)
      expect(yield* Fiber.join(race)).toBe("me")
      yield* expectStill(id, script)
      const late = yield* Effect.fork(Effect.flip(ask("slow")))
      yield* TestClock.adjust(1_000)
      yield* session.stop(id)
      expect(yield* Fiber.join(late)).toMatchObject({ _tag: "TaskStopped" })
      yield* expectStill(id, script)
    }).pipe(provide(script))
  })

  it.effect("cannot be promoted, because the program needs its outcome", () =>
    Effect.gen(function*() {
      const tasks = yield* Tasks
      const { id } = yield* root()
      const fiber = yield* Effect.fork(Task.run({ parentID: id, agent: "worker", prompt: "p" }))
      yield* TestClock.adjust(500)
      const [child] = yield* childrenOf(id)
      expect(yield* Effect.flip(tasks.promote({ parentID: id, taskID: child!.id }))).toMatchObject({
        reason: "settled"
      })
      yield* TestClock.adjust(500)
      expect(yield* Fiber.join(fiber)).toBe("found")
    }).pipe(provide({ worker: [{ text: "found", delay: { first: 1_000 } }] })))
})

describe("a tool that runs tasks for its caller", () => {
  const two = (agent: string) => ({ sessionID: parentID }: ToolContext) =>
    Effect.all([1, 2].map((n) => Task.run({ parentID, agent, prompt: `${n}` })), { concurrency: "unbounded" })
  const found = "[\"found\",\"found\"]"

  it.effect.each([false, true])("releases its slot, at all levels (waits: %s)", (waits) => {
    const script = Scripted.make({
      build: [Scripted.call("outer", { n: 1 }, { n: 2 }), "ok"],
      worker: [Scripted.call("nested", { n: 1 }, { n: 2 }), { text: "found", delay: { first: 10 } }],
      inner: [{ text: "found", delay: { first: 10 } }]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const turn = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 minute")
      expect((yield* Fiber.join(turn)).text).toBe("ok")
      expect((yield* callsMade(id)).map(resultOf)).toEqual([found, found])
      expect(yield* treeOf(id)).toHaveLength(1 + 4 + 16)
      expect(script.open.most).toBe(1)
      yield* expectStill(id, script)
    }).pipe(
      provide(
        script,
        { config: { limits: { concurrency: 1, process_concurrency: 1 } } },
        asking("outer", two("worker"), waits),
        asking("nested", two("inner"), waits)
      )
    )
  })

  it.effect("works again when one of its tasks has won, and holds no extra slot", () => {
    const script = Scripted.make({
      build: [Scripted.call("race", { n: 1 }, { n: 2 }, { n: 3 }), "ok"],
      worker: (request) => ({ text: "me", delay: { first: Number(Scripted.lastText(request)) } })
    })
    const race = ({ sessionID: parentID }: ToolContext) =>
      Effect.raceAll([10, 50].map((n) => Task.run({ parentID, agent: "worker", prompt: `${n}` })))
    return Effect.gen(function*() {
      const { id } = yield* root()
      const turn = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(turn)
      expect((yield* callsMade(id)).map(resultOf)).toEqual(["\"me\"", "\"me\"", "\"me\""])
      yield* expectStill(id, script)
    }).pipe(provide(script, { config: { limits: { concurrency: 2 } } }, asking("race", race)))
  })

  it.effect("passes down the model that calls it", () => {
    const script = Scripted.make({ build: [Scripted.call("outer", { n: 1 }), "ok"], worker: ["found"] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      const [child] = yield* childrenOf(id)
      expect(child?.model).toEqual({ providerID: "scripted", modelID: "model" })
    }).pipe(provide(script, {}, asking("outer", two("worker"))))
  })
})
