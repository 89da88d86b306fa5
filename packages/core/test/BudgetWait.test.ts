import { describe, expect, it } from "@effect/vitest"
import { Budget } from "@skein/core/Budget"
import type { ModelRequest } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import * as Task from "@skein/core/Task"
import { Tasks } from "@skein/core/Tasks"
import { type ToolContext, ToolError, Tools } from "@skein/core/Tool"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { sessionOf, spawn, uses } from "./support/budgets.ts"
import { childrenOf, expectStill, root } from "./support/tree.ts"

/** A tool whose result has this many tokens, and takes this long. */
const read = SkeinTest.tool(
  "read",
  ({ ms = 0, tokens }) => Effect.as(Effect.sleep(Number(ms)), "word".repeat(Number(tokens)))
)

const aTask = (agent: string, more: object = {}): Scripted.ScriptedCall => ({
  tool: "task",
  input: { description: agent, prompt: `Work as ${agent}`, subagent_type: agent, ...more }
})

/** Adds a tool that runs a task: another way to wait for one than the tool `task`. */
const addDelegate = Effect.gen(function*() {
  const tools = yield* Tools
  const services = yield* Effect.context<Session>()
  const run = ({ subagent_type }: SkeinTest.TestInput, { sessionID }: ToolContext) =>
    Task.run({ agent: String(subagent_type), prompt: "Work", parentID: sessionID }).pipe(
      Effect.provide(services),
      Effect.mapError(({ message }) => new ToolError({ kind: "task", message }))
    )
  yield* tools.register(SkeinTest.tool("delegate", run))
})

const budgets = (id: SessionID) => Effect.flatMap(Budget, (service) => service.of(id))

/** Nothing runs, and nothing of any budget is held. */
const expectAllGivenBack = Effect.fnUntraced(function*(id: SessionID, script: Scripted.Scripted) {
  yield* expectStill(id, script)
  for (const { kept } of yield* budgets(id)) expect(kept).toEqual({})
})

const agents = ["a", "b", "c", "d"].map((name) => SkeinTest.agent(name, { permission: { task: "allow" } }))

describe("a request that waits for budget", () => {
  it.effect("releases its slot, so that the tasks that it waits for can begin", () => {
    const script = Scripted.make({
      a: [{ calls: [{ tool: "read", input: { tokens: 5_000, ms: 10 } }], ...uses(1_000) }, {
        text: "a done",
        ...uses(7_000)
      }],
      b: [{ text: "b done", ...uses(1_000), delay: { first: 50 } }]
    })
    return Effect.gen(function*() {
      const { id } = yield* root({ budget: { tokens: 40_000 } })
      const a = yield* Effect.fork(spawn(id, "a"))
      yield* TestClock.adjust(5)
      const b = yield* Effect.fork(spawn(id, "b", { budget: { tokens: 36_000 } }))
      yield* TestClock.adjust(20)
      const [child] = yield* childrenOf(id)
      expect(yield* Effect.flatMap(Session, (session) => session.status(child?.id as SessionID))).toMatchObject({
        type: "waiting",
        which: "tokens"
      })
      const status = yield* Effect.flatMap(Tasks, (tasks) => tasks.status({ parentID: id }))
      expect(status.map(({ doing }) => doing)).toEqual([
        expect.stringContaining("waits for budget: 3000 of 40000 tokens"),
        expect.any(String)
      ])
      yield* TestClock.adjust("1 minute")
      expect((yield* Fiber.join(a)).text).toBe("a done")
      expect((yield* Fiber.join(b)).text).toBe("b done")
      yield* expectAllGivenBack(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, tools: [read], config: { limits: { concurrency: 1 } } })))
  })

  it.effect("waits for a task that continues, while a task of that one waits as well", () => {
    const script = Scripted.make({
      a: [
        { calls: [aTask("b", { background: true })], ...uses(1_000) },
        { text: "a done", ...uses(1_000), delay: { first: 1_000 } },
        { text: "a done", ...uses(1_000) }
      ],
      b: [{ calls: [{ tool: "read", input: { tokens: 10, ms: 100 } }], ...uses(500) }, {
        text: "b done",
        ...uses(500)
      }],
      c: [{ calls: [{ tool: "read", input: { tokens: 4_000, ms: 200 } }], ...uses(500) }, {
        text: "c done",
        ...uses(4_600)
      }]
    })
    return Effect.gen(function*() {
      const { id } = yield* root({ budget: { tokens: 13_000 } })
      const a = yield* Effect.fork(spawn(id, "a", { budget: { tokens: 9_500 } }))
      const c = yield* Effect.fork(spawn(id, "c"))
      yield* TestClock.adjust(500)
      expect(script.open.now).toBe(1)
      yield* TestClock.adjust("1 minute")
      expect((yield* Fiber.join(a)).status).toBe("completed")
      expect(yield* Fiber.join(c)).toMatchObject({ status: "completed", text: "c done" })
      yield* expectAllGivenBack(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, tools: [read] })))
  })

  const crossing = (tool: "task" | "delegate") => {
    const ask = (agent: string) => tool === "task" ? aTask(agent) : { tool, input: { subagent_type: agent } }
    const script = Scripted.make({
      a: [{ calls: [ask("b")], ...uses(1_000) }, { text: "a done", ...uses(1_000) }],
      b: [{ calls: [{ tool: "read", input: { tokens: 10, ms: 100 } }], ...uses(1_000) }, {
        text: "b done",
        ...uses(1_000)
      }],
      c: [{ calls: [ask("d")], ...uses(1_000) }, { text: "c done", ...uses(1_000) }],
      d: [{ calls: [{ tool: "read", input: { tokens: 8_000, ms: 100 } }], ...uses(1_000) }, {
        text: "d done",
        ...uses(9_000)
      }]
    })
    return Effect.gen(function*() {
      yield* addDelegate
      const { id } = yield* root({ budget: { tokens: 100_000, usd: "0.05" } })
      const a = yield* Effect.fork(spawn(id, "a", { budget: { tokens: 94_000 } }))
      yield* TestClock.adjust(50)
      const c = yield* Effect.fork(spawn(id, "c", { budget: { usd: "1" } }))
      yield* TestClock.adjust("1 minute")
      const ends = [(yield* Fiber.join(a)).status, (yield* Fiber.join(c)).status]
      expect(ends).toContain("completed")
      yield* expectAllGivenBack(id, script)
    }).pipe(Effect.scoped, Effect.provide(SkeinTest.layer(script, { agents, tools: [read] })))
  }

  it.effect("ends if two budgets wait for each other, and the other one continues (the tool task)", () =>
    crossing("task"))
  it.effect("ends if two budgets wait for each other, and the other one continues (a tool that runs a task)", () =>
    crossing("delegate"))

  it.effect("is granted before smaller requests that came later", () => {
    const inputOf = ({ messages, tools }: ModelRequest) =>
      Math.ceil((JSON.stringify(messages).length + JSON.stringify(tools).length) / 4)
    const order: Array<string> = []
    const script = Scripted.make({
      a: (request) => {
        const name = /part (\w+)/.exec(JSON.stringify(request.messages))?.[1] ?? ""
        order.push(name)
        return {
          text: name,
          tokens: { input: inputOf(request), output: 10 },
          delay: { first: name === "slow" ? 1_000 : 100 }
        }
      }
    }, { limit: { context: 200_000, output: 2_000 } })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const probe = yield* Effect.fork(spawn(id, "a", { prompt: "part probe" }))
      yield* TestClock.adjust(100)
      const input = (yield* Fiber.join(probe)).usage.tokens.input
      // What the quick one releases is enough for the small one, but not for the big one.
      yield* Effect.flatMap(Budget, (budget) => budget.set(id, { tokens: 3 * input + 4_200 }))
      const fibers = yield* Effect.forEach(
        ["quick", "slow", `big ${"word ".repeat(1_000)}`, "small"],
        (words) => Effect.zipLeft(Effect.fork(spawn(id, "a", { prompt: `part ${words}` })), TestClock.adjust(10))
      )
      yield* TestClock.adjust("1 minute")
      const ends = yield* Effect.forEach(fibers, Fiber.join)
      expect(ends.map(({ status }) => status)).toEqual(["completed", "completed", "completed", "completed"])
      expect(order).toEqual(["probe", "quick", "slow", "big", "small"])
      yield* expectAllGivenBack(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
  })

  /** `b` holds nearly all for a second while `a` waits for its second request. */
  const held = () => {
    const script = Scripted.make({
      a: [
        { calls: [{ tool: "read", input: { tokens: 5_000 } }], ...uses(1_000) },
        { text: "a done", ...uses(7_000) },
        { text: "a continued", ...uses(7_500) }
      ],
      b: [{ text: "b done", ...uses(1_000), delay: { first: 1_000 } }]
    })
    const begun = Effect.gen(function*() {
      const { id } = yield* root({ budget: { tokens: 40_000 } })
      const b = yield* Effect.fork(spawn(id, "b", { budget: { tokens: 36_000 } }))
      yield* TestClock.adjust(5)
      const a = yield* Effect.fork(spawn(id, "a"))
      yield* TestClock.adjust(5)
      const waiting = (yield* childrenOf(id)).find(({ agent }) => agent === "a")?.id as SessionID
      expect((yield* Effect.flatMap(Session, (session) => session.status(waiting))).type).toBe("waiting")
      return { a, b, id, waiting }
    })
    return { begun, script, layer: SkeinTest.layer(script, { agents, tools: [read] }) }
  }

  it.effect("ends immediately if its session is stopped, and holds nothing", () => {
    const { begun, layer, script } = held()
    return Effect.gen(function*() {
      const { a, b, id, waiting } = yield* begun
      yield* Effect.flatMap(Session, (session) => session.stop(waiting))
      expect((yield* Fiber.join(a)).status).toBe("stopped")
      expect((yield* budgets(id)).map(({ kept }) => kept)).toMatchObject([{ tokens: "36000", steps: "1" }])
      yield* TestClock.adjust("1 minute")
      expect((yield* Fiber.join(b)).status).toBe("completed")
      expect(script.requests).toHaveLength(2)
      yield* expectAllGivenBack(id, script)
    }).pipe(Effect.provide(layer))
  })

  it.effect("ends if its caller is interrupted, and holds nothing", () => {
    const { begun, layer, script } = held()
    return Effect.gen(function*() {
      const { a, b, id } = yield* begun
      yield* Fiber.interrupt(a)
      yield* TestClock.adjust("1 minute")
      expect((yield* Fiber.join(b)).status).toBe("completed")
      expect(script.requests).toHaveLength(2)
      yield* expectAllGivenBack(id, script)
    }).pipe(Effect.provide(layer))
  })

  it.effect("lets its task conclude if that is stopped, once there is budget for it", () => {
    const { begun, layer, script } = held()
    return Effect.gen(function*() {
      const { a, id, waiting } = yield* begun
      const stop = yield* Effect.fork(
        Effect.flatMap(Tasks, (tasks) => tasks.stop({ parentID: id, taskID: waiting }, { by: "the user" }))
      )
      yield* TestClock.adjust("10 minutes")
      const end = yield* Fiber.join(a)
      yield* Fiber.join(stop)
      expect(end).toMatchObject({ status: "stopped" })
      expect(script.requests.at(-1)?.tools).toEqual([])
      yield* expectAllGivenBack(id, script)
    }).pipe(Effect.provide(layer))
  })

  it.effect("does not lose messages to its session meanwhile", () => {
    const { begun, layer, script } = held()
    return Effect.gen(function*() {
      const { a, b, id, waiting } = yield* begun
      yield* Effect.flatMap(Tasks, (tasks) => tasks.message({ parentID: id, taskID: waiting }, "look there as well"))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(b)
      expect(yield* Fiber.join(a)).toMatchObject({ status: "completed", text: "a continued" })
      expect(JSON.stringify(script.requests.at(-1)?.messages)).toContain("look there as well")
      yield* expectAllGivenBack(id, script)
    }).pipe(Effect.provide(layer))
  })

  it.effect("continues as soon as its session gets another budget", () => {
    const { begun, layer, script } = held()
    return Effect.gen(function*() {
      const { a, b, id } = yield* begun
      yield* Effect.flatMap(Budget, (budget) => budget.set(id, { tokens: 90_000 }))
      yield* TestClock.adjust(5)
      expect((yield* Fiber.join(a)).text).toBe("a done")
      expect(script.open.now).toBe(1)
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(b)
      yield* expectAllGivenBack(id, script)
    }).pipe(Effect.provide(layer))
  })
})

describe("an answer that a budget cuts off", () => {
  /** A long answer with one token per character, continued where it was cut off. */
  const whole = Array.from({ length: 15_000 }, (_, i) => String.fromCodePoint(97 + (i * 7 + (i >> 5)) % 26)).join("")
  const reciting = (request: ModelRequest): Scripted.ScriptedStep => {
    const said = request.messages.flatMap((message) =>
      message.role === "assistant" ? message.content.flatMap((part) => part.type === "text" ? [part.text] : []) : []
    ).join("")
    expect(whole.startsWith(said)).toBe(true)
    const rest = whole.slice(said.length)
    const input = Math.ceil((JSON.stringify(request.messages).length + JSON.stringify(request.tools).length) / 4)
    return { text: rest, tokens: { input, output: rest.length } }
  }

  it.effect.each([[30_000, "completed"], [16_000, "budget_exhausted"]] as const)(
    "continues while there is budget, and its pieces are one answer (%i tokens)",
    ([tokens, status]) => {
      const script = Scripted.make({ a: reciting })
      return Effect.gen(function*() {
        const { id } = yield* root({ budget: { tokens } })
        const outcome = yield* spawn(id, "a")
        expect(script.requests.length).toBeGreaterThan(1)
        expect(outcome.status).toBe(status)
        if (status === "completed") expect(outcome.text === whole).toBe(true)
        else {
          expect(outcome.text.length).toBeGreaterThan(5_000)
          expect(whole.startsWith(outcome.text)).toBe(true)
        }
        expect(Number((yield* sessionOf(id)).budget?.spent.tokens)).toBeLessThanOrEqual(tokens * 1.03)
        yield* expectAllGivenBack(id, script)
      }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
    }
  )
})

describe("a provider that ignores the cap", () => {
  it.effect("exceeds a budget at most by the answers in flight", () => {
    const script = Scripted.make({
      a: [{ text: "word", tokens: { input: 500, output: 20_000 }, ignoresCap: true, delay: { first: 100 } }]
    })
    return Effect.gen(function*() {
      const { id } = yield* root({ budget: { tokens: 60_000 } })
      const all = yield* Effect.fork(Effect.forEach(Array.from({ length: 16 }), () => spawn(id, "a"), {
        concurrency: "unbounded"
      }))
      yield* TestClock.adjust("1 minute")
      const ends = (yield* Fiber.join(all)).map(({ status }) => status)
      expect(ends.filter((status) => status === "completed").length).toBe(script.requests.length)
      expect(ends).toContain("budget_exhausted")
      expect(script.open.most).toBeLessThanOrEqual(7)
      const used = Number((yield* sessionOf(id)).budget?.spent.tokens)
      expect(used).toBeGreaterThan(60_000)
      expect(used).toBeLessThanOrEqual(60_000 + script.open.most * 20_500)
      yield* expectAllGivenBack(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
  })
})

describe("a budget of tasks", () => {
  it.effect("is not exceeded by tasks that start in parallel", () => {
    const script = Scripted.make({ a: [{ text: "done", delay: { first: 10 } }] })
    return Effect.gen(function*() {
      const { id } = yield* root({ budget: { tasks: 4 } })
      const all = yield* Effect.fork(Effect.forEach(Array.from({ length: 10 }), () => Effect.either(spawn(id, "a")), {
        concurrency: "unbounded"
      }))
      yield* TestClock.adjust("1 minute")
      const ends = (yield* Fiber.join(all)).map((end) => end._tag === "Left" ? end.left._tag : end.right.status)
      expect(ends.toSorted()).toEqual([
        ...Array.from({ length: 6 }, () => "TaskRefused"),
        ...Array.from({ length: 4 }, () => "completed")
      ])
      expect((yield* sessionOf(id)).budget?.spent.tasks).toBe(4)
      yield* expectAllGivenBack(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
  })
})
