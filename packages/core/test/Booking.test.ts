import { describe, expect, it } from "@effect/vitest"
import { Budget } from "@skein/core/Budget"
import type { ModelRequest } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import { within } from "./support/bounded.ts"
import { failing, options, sessionOf } from "./support/budgets.ts"
import { generations, go, resumed } from "./support/generations.ts"
import { childrenOf, messagesOf, root, treeOf } from "./support/tree.ts"

const inputOf = ({ messages, tools }: ModelRequest): number =>
  Math.ceil((JSON.stringify(messages).length + JSON.stringify(tools).length) / 4)

/** A text of that many tokens. */
const words = (tokens: number): string => "word ".repeat(Math.ceil(tokens * 0.8))

/** A server that counts all tokens that it reads and writes, whatever becomes of its answers. */
class Server {
  sent = 0
  requests = 0

  /** Counts a request and its answer, which ends at the cap of the request; reports that as its usage if the answer ends. */
  count(request: ModelRequest, most: number, step: Scripted.ScriptedStep): Scripted.ScriptedStep {
    const input = inputOf(request)
    const output = Math.min(most, request.maxOutputTokens ?? most)
    this.requests++
    this.sent += input + output
    return { tokens: { input, output }, ...step, ...(step.text === undefined ? {} : { text: words(output) }) }
  }

  /** Calls a tool, each time with other arguments. */
  look(request: ModelRequest, output: number, more: Scripted.ScriptedStep = {}) {
    const calls = [{ tool: "look", input: { at: `${this.requests}` } }]
    return this.count(request, output, { text: words(output), calls, ...more })
  }
}

const cut = (output: number) => Scripted.fault("network", {}, { text: words(output), silent: true })

const budget = { tokens: 40_000 }

/** Prompts a session until its budget is used up. */
const exhaust = (script: Scripted.Script) =>
  Effect.gen(function*() {
    const { id } = yield* root({ budget })
    const fiber = yield* Effect.fork(failing(id))
    yield* TestClock.adjust("1 hour")
    const error = yield* Fiber.join(fiber)
    return { error, info: yield* sessionOf(id) }
  }).pipe(Effect.provide(SkeinTest.layer(Scripted.make({ build: script }), options)))

/** The server counted no more than the budget and 3 %, and nearly all of that is charged. */
const expectKept = (sent: number, spent: number | undefined, limit = budget.tokens) => {
  expect(sent).toBeGreaterThan(0)
  expect(sent).toBeLessThanOrEqual(limit * 1.03)
  expect(spent).toBeGreaterThanOrEqual(sent * 0.97)
}

describe("a request is charged", () => {
  it.effect("if its answer is cut off, and counts as a step of the budget", () =>
    Effect.gen(function*() {
      const server = new Server()
      const { error, info } = yield* exhaust((request) =>
        server.requests % 5 === 4 ? server.look(request, 500) : server.count(request, 2_000, cut(2_000))
      )
      expect(error).toMatchObject({ _tag: "BudgetExhausted", which: "tokens" })
      expectKept(server.sent, info.budget?.spent.tokens)
      expect(info.usage.own).toMatchObject({ steps: server.requests, estimated: true })
      expect(info.budget?.spent.steps).toBe(server.requests)
    }))

  it.effect("if its model reports no usage", () =>
    Effect.gen(function*() {
      const server = new Server()
      const { error, info } = yield* exhaust((request) => server.look(request, 1_000, { silent: true }))
      expect(error).toMatchObject({ _tag: "BudgetExhausted", which: "tokens" })
      expectKept(server.sent, info.budget?.spent.tokens)
      expect(info.usage.own.estimated).toBe(true)
    }))

  it.effect("if it is stopped in the middle of the answer", () =>
    Effect.gen(function*() {
      const server = new Server()
      const script = Scripted.make({
        build: (request) => server.count(request, 2_000, { text: words(2_000), hangs: true })
      })
      yield* Effect.gen(function*() {
        const { id } = yield* root({ budget })
        const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
        yield* TestClock.adjust("1 second")
        yield* Fiber.interrupt(fiber)
        const { budget: account, usage } = yield* sessionOf(id)
        expectKept(server.sent, account?.spent.tokens)
        expect(usage.own).toMatchObject({ steps: 1, estimated: true })
      }).pipe(Effect.provide(SkeinTest.layer(script)))
    }))

  it.effect("if an error with a status ends its answer in the middle", () => {
    const script = Scripted.make({
      build: [Scripted.fault("server", { status: 502 }, { text: words(2_000), silent: true }), "done"]
    })
    return Effect.gen(function*() {
      const { id } = yield* root({ budget })
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 hour")
      expect((yield* Fiber.join(fiber)).text).toBe("done")
      const { usage } = yield* sessionOf(id)
      expect(usage.own).toMatchObject({ steps: 2, estimated: true })
      expect(usage.own.tokens.output).toBeGreaterThan(1_900)
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })

  it.effect("not if a status refuses it, or if the server is not reached", () => {
    const unreached = { fails: Scripted.fault("network").fails!, unreached: true }
    const script = Scripted.make({ build: [Scripted.fault("rate_limit"), unreached, "done"] })
    return Effect.gen(function*() {
      const { id } = yield* root({ budget })
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 hour")
      expect((yield* Fiber.join(fiber)).text).toBe("done")
      const { budget: account, usage } = yield* sessionOf(id)
      expect(account?.spent).toMatchObject({ tokens: 15, steps: 1 })
      expect(usage.own.estimated).toBeUndefined()
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })
})

describe("after a crash", () => {
  const begin = Effect.gen(function*() {
    const { id } = yield* root({ budget })
    yield* Session.prompt(id, "Go")
  })

  it("is charged in full if it died between the request and its answer, and the turn is left alone after three", () => {
    const server = new Server()
    const slow = (request: ModelRequest) =>
      server.count(request, 2_000, { text: words(2_000), pieces: 20, delay: { between: 1_000 } })
    const spent: Array<number | undefined> = []
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    const died = {
      scripts: { build: slow },
      options: {},
      dies: 5_000,
      program: (id: SessionID) =>
        Effect.gen(function*() {
          yield* resumed(id)
          spent.push((yield* sessionOf(id)).budget?.spent.steps)
        }).pipe(Effect.provide(Logger.add(logger)))
    }
    const isOpen = (id: SessionID) => Effect.map(sessionOf(id), ({ turn }) => turn?.ended === undefined)
    generations(
      { scripts: { build: slow }, options: {}, dies: 5_000, program: begin },
      died,
      died,
      ...Array.from({ length: 6 }, () => died),
      {
        scripts: { build: slow },
        options: {},
        program: (id) =>
          Effect.gen(function*() {
            const session = yield* Session
            yield* resumed(id)
            expect(yield* isOpen(id)).toBe(true)
            expect(server.requests).toBe(3)
            // No server looks at it again, and it is reported once.
            expect(yield* Effect.flatMap(SessionStorage, ({ unfinished }) => unfinished)).toEqual([])
            expect(lines.filter((line) => line.includes("is left alone"))).toHaveLength(1)
            const { budget: account, usage } = yield* sessionOf(id)
            expect(usage.own).toMatchObject({ steps: 3, estimated: true })
            expectKept(server.sent, account?.spent.tokens)
            expect(account?.spent.tokens).toBeGreaterThan(server.sent)
            yield* Budget.pipe(Effect.flatMap((budgets) => budgets.set(id, { tokens: 50_000 })))
            yield* session.resume(id, { anew: true })
            expect((yield* sessionOf(id)).turn?.leftAlone).toBeUndefined()
            yield* session.untilIdle(id)
            expect(server.requests).toBe(4)
            expect(yield* isOpen(id)).toBe(false)
          })
      }
    )
  })

  it("a turn whose compaction died three times is left alone, until somebody has it asked again", () => {
    let answers = false
    const long = `word ${"y".repeat(6_000)}`
    const usual = Scripted.make({
      build: (request) => within(9_000, request, long),
      compaction: () => answers ? "They talked." : { text: "never", hangs: true }
    }, { limit: { context: 10_000, output: 1_000 } })
    const asked = () => usual.requests.filter(({ origin }) => origin.purpose === "compaction").length
    const talk = Effect.gen(function*() {
      const { id } = yield* root()
      for (let n = 0; n < 8; n++) yield* Session.prompt(id, `Go ${n} ${"z".repeat(4_000)}`)
    })
    const scene = { scripts: {}, usual, options: {} }
    const again = { ...scene, dies: 5_000, program: resumed }
    generations(
      { ...scene, dies: 5_000, program: talk },
      ...Array.from({ length: 5 }, () => again),
      {
        ...scene,
        program: (id) =>
          Effect.gen(function*() {
            const session = yield* Session
            yield* resumed(id)
            expect(asked()).toBe(3)
            expect((yield* sessionOf(id)).turn?.ended).toBeUndefined()
            answers = true
            yield* session.resume(id, { anew: true })
            yield* session.untilIdle(id)
            expect(asked()).toBe(4)
            expect((yield* sessionOf(id)).turn?.ended?.how).toBe("completed")
          })
      }
    )
  })

  it.each([true, false])(
    "a title is asked for again if its process died first, and once: where titles are %s",
    (titles) => {
      const nap = SkeinTest.tool("nap", () => Effect.as(Effect.sleep("1 hour"), "slept"), { effect: "safe" })
      const slow = { text: "never", hangs: true }
      const purposes: Array<string> = []
      const noted = (id: SessionID, script: Scripted.Scripted) =>
        Effect.ensuring(
          resumed(id),
          Effect.sync(() => void purposes.push(...script.requests.map(({ origin }) => origin.purpose)))
        )
      generations(
        {
          scripts: { build: [Scripted.call("nap", {}), "never"], title: [slow] },
          options: { titles },
          tools: () => [nap],
          dies: 5_000,
          program: Effect.gen(function*() {
            const { id } = yield* Session.create({ directory: "/work" })
            yield* Session.prompt(id, "Go")
          })
        },
        {
          scripts: { build: [{ text: "done", delay: { first: 5_000 } }], title: ["Named"] },
          options: { titles },
          tools: () => [SkeinTest.tool("nap", () => Effect.succeed("slept"), { effect: "safe" })],
          program: (id, script) =>
            Effect.gen(function*() {
              yield* noted(id, script)
              expect((yield* sessionOf(id)).title).toBe(titles ? "Named" : "Go")
            })
        },
        {
          scripts: {},
          options: { titles },
          program: (id, script) =>
            Effect.gen(function*() {
              yield* noted(id, script)
              expect(purposes.filter((purpose) => purpose === "title")).toHaveLength(titles ? 1 : 0)
            })
        }
      )
    }
  )

  it("a turn that was left alone is asked again where a task of its tree works", () => {
    const task = Scripted.call("task", { description: "d", prompt: "p", subagent_type: "worker", background: true })
    const nap = SkeinTest.tool("nap", () => Effect.as(Effect.sleep("1 hour"), "slept"), { effect: "safe" })
    const shared = { options: { agents: [SkeinTest.agent("worker")] }, tools: () => [nap] }
    const never = { text: "never", hangs: true }
    const first = { build: [task, never], worker: [Scripted.call("nap", {}), "done"] }
    const again = { scripts: { build: [never], worker: ["done"] }, ...shared, dies: 5_000, program: resumed }
    generations(
      { scripts: first, ...shared, dies: 5_000, program: go },
      again,
      again,
      {
        scripts: { build: ["told", "heard"], worker: ["done"] },
        ...shared,
        program: (id, script) =>
          Effect.gen(function*() {
            const session = yield* Session
            const asked = () => script.requests.map(({ origin }) => origin.path.join("/"))
            yield* session.resume(id)
            yield* Effect.sleep(1_000)
            expect(asked()).toEqual([])
            yield* session.resume(id, { anew: true })
            yield* Effect.sleep(1_000)
            expect(asked()).toEqual(["build"])
            yield* session.untilIdle(id)
            expect((yield* sessionOf(id)).turn?.ended?.how).toBe("completed")
          })
      }
    )
  })

  it("a task whose request died three times is lost, and its caller reads why", () => {
    const task = Scripted.call("task", { description: "part", prompt: "Do it", subagent_type: "worker" })
    const scripts = { build: [task, "told"], worker: [{ text: "never", hangs: true }] }
    const agents = [SkeinTest.agent("worker")]
    const again = { scripts, options: { agents }, dies: 5_000, program: resumed }
    generations(
      { scripts, options: { agents }, dies: 5_000, program: begin },
      again,
      again,
      {
        scripts: { build: ["told"], worker: ["not asked"] },
        options: { agents },
        program: (id, script) =>
          Effect.gen(function*() {
            expect((yield* resumed(id))?.text).toBe("told")
            expect(script.requests.map(({ origin }) => origin.path.length)).toEqual([1])
            expect(JSON.stringify((yield* messagesOf(id)).map(({ parts }) => parts))).toContain("died 3 times in a row")
            const storage = yield* SessionStorage
            const [run] = (yield* storage.runs({ rootID: id })).rows
            expect(run?.outcome).toMatchObject({ status: "lost", usage: { steps: 3, estimated: true } })
          })
      }
    )
  })

  it.each([1, 2, 3])("many tasks stay within one budget over kills (seed %i)", (seed) => {
    const server = new Server()
    const count = 64
    const limit = 250_000
    const tasks = Array.from({ length: count }, (_, i) => ({
      description: `part ${i}`,
      prompt: `Do part ${i}`,
      subagent_type: "worker"
    }))
    const scripts = {
      build: (request: ModelRequest) =>
        request.messages.some(({ role }) => role === "tool")
          ? server.count(request, 10, { text: "done" })
          : server.count(request, 4_000, Scripted.call("task", ...tasks)),
      worker: (request: ModelRequest) => server.look(request, 400, { pieces: 4, delay: { first: 500, between: 500 } })
    }
    const given = { scripts, options: { ...options, config: { limits: { concurrency: 16 } } } }
    const killed = (dies: number) => ({ ...given, dies, program: resumed })
    generations(
      {
        ...given,
        seed,
        dies: 3_300,
        program: Effect.gen(function*() {
          const { id } = yield* root({ budget: { tokens: limit } })
          yield* Session.prompt(id, "Go")
        })
      },
      killed(4_100),
      killed(2_700),
      killed(5_200),
      {
        ...given,
        program: (id) =>
          Effect.gen(function*() {
            const session = yield* Session
            yield* session.resume(id)
            yield* Effect.exit(session.untilIdle(id))
            const { budget: account, usage } = yield* sessionOf(id)
            expect(server.sent).toBeLessThanOrEqual(limit * 1.03)
            expect(server.sent).toBeGreaterThan(limit * 0.1)
            expect(account?.spent.tokens).toBeGreaterThanOrEqual(server.sent)
            expect(usage.subtree.tokens.input + usage.subtree.tokens.output).toBe(account?.spent.tokens)
            const all = yield* treeOf(id)
            expect(all).toHaveLength(count + 1)
          })
      }
    )
  })

  it("charges what hidden agents had asked", () => {
    const compaction = { text: words(2_000), hangs: true }
    const long = { text: words(6_000), tokens: { input: 8_000, output: 6_000 } }
    generations(
      {
        scripts: { build: [long, long, "done"], compaction: [compaction] },
        options: {},
        dies: 5_000,
        program: Effect.gen(function*() {
          const session = yield* Session
          const { id } = yield* root({ budget: { tokens: 400_000 } })
          yield* Session.prompt(id, "Go")
          yield* Session.prompt(id, "Go on")
          yield* session.compact(id)
        })
      },
      {
        scripts: { build: ["done"] },
        options: {},
        program: (id) =>
          Effect.gen(function*() {
            const before = (yield* sessionOf(id)).usage.own
            yield* resumed(id)
            yield* Session.prompt(id, "And?")
            const { asking, usage } = yield* sessionOf(id)
            expect(asking ?? []).toEqual([])
            expect(usage.own.estimated).toBe(true)
            expect(usage.own.tokens.input - before.tokens.input).toBeGreaterThan(1_000)
            expect(usage.own.tokens.output - before.tokens.output).toBe(16_384 + 5)
            expect(usage.own.steps).toBe(before.steps + 1)
          })
      }
    )
  })

  it("is charged in full if its tree is stopped", () => {
    const server = new Server()
    const hanging = { text: words(10), pieces: 10, delay: { between: 1_000 } }
    generations(
      {
        scripts: { build: (request) => server.count(request, 2_000, hanging) },
        options: {},
        dies: 500,
        program: begin
      },
      {
        scripts: {},
        options: {},
        program: (id) =>
          Effect.gen(function*() {
            yield* (yield* Session).stop(id, "the user")
            const { budget: account, usage } = yield* sessionOf(id)
            expect(usage.own).toMatchObject({ steps: 1, estimated: true })
            expect(account?.spent.tokens).toBeGreaterThanOrEqual(server.sent)
          })
      }
    )
  })

  it("charges each request once if a stop interrupts the recovery", () => {
    const names = ["one", "two", "three", "four", "five", "six"]
    const tasks = names.map((description) => ({
      description,
      prompt: description,
      subagent_type: "worker",
      background: true
    }))
    const askedBy: Array<SessionID> = []
    const given = (first: number) => ({
      scripts: {
        build: ({ messages }: ModelRequest) =>
          messages.some(({ role }) => role === "tool") ? "the end" : Scripted.call("task", ...tasks),
        worker: ({ origin }: ModelRequest) => {
          askedBy.push(origin.sessionID)
          return { text: "worked", delay: { first } }
        }
      },
      options: { agents: [SkeinTest.agent("worker")] },
      latency: 20
    })
    generations(
      { ...given(600_000), dies: 5_000, program: begin },
      {
        ...given(20_000),
        program: (id, script) =>
          Effect.gen(function*() {
            const session = yield* Session
            const children = yield* childrenOf(id)
            yield* Effect.fork(session.resume(id))
            yield* Effect.repeat(Effect.sleep(1), { until: () => script.requests.length > 0 })
            const first = script.requests[0]?.origin.sessionID
            yield* session.stop(children.find((child) => child.id !== first)!.id, "the user")
            yield* Effect.sleep(200_000)
            for (const { id: child, usage } of yield* childrenOf(id)) {
              expect(usage.own.steps).toBe(askedBy.filter((each) => each === child).length)
            }
            expect(script.requests.filter(({ origin }) => origin.path.length === 2)).toHaveLength(5)
          })
      }
    )
  })

  it("what asks a model here before the recovery is charged as it ends", () => {
    const summary = { text: "a summary", tokens: { input: 5_000, output: 700 }, delay: { first: 10_000 } }
    generations(
      { scripts: { build: ["one"] }, options: {}, program: begin },
      {
        scripts: { build: ["two"], summary: [summary] },
        options: {},
        program: (id) =>
          Effect.gen(function*() {
            const session = yield* Session
            const before = (yield* sessionOf(id)).usage.own.tokens
            const summarizing = yield* Effect.fork(session.summarize(id))
            yield* Effect.sleep(1_000)
            yield* session.prompt(id, "Go on")
            yield* Fiber.join(summarizing)
            const { asking, usage: { own } } = yield* sessionOf(id)
            expect(asking ?? []).toEqual([])
            expect(own.estimated).toBeUndefined()
            expect(own.tokens.input - before.input).toBe(5_000 + 10)
            expect(own.tokens.output - before.output).toBe(700 + 5)
          })
      }
    )
  })

  it.effect("nothing more is charged if the answer was stored", () => {
    const script = Scripted.make({ build: ["done"] })
    return Effect.gen(function*() {
      const { id } = yield* root({ budget })
      yield* Session.prompt(id, "Go")
      const { budget: account, usage } = yield* sessionOf(id)
      expect({ steps: usage.own.steps, tokens: account?.spent.tokens }).toEqual({ steps: 1, tokens: 15 })
      expect(yield* childrenOf(id)).toEqual([])
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })
})
