import { describe, expect, it } from "@effect/vitest"
import { Budget } from "@skein/core/Budget"
import type { ModelRequest } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { Tasks } from "@skein/core/Tasks"
import type { Budget as Limit } from "@skein/domain/Budget"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { seeds } from "@skein/testing/Seeds"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { sessionOf } from "./support/budgets.ts"
import { expectStill, root, treeOf } from "./support/tree.ts"

const upTo = (most: number) => Random.nextIntBetween(0, most + 1)
const oneOf = <A>(...items: readonly [A, ...ReadonlyArray<A>]): Effect.Effect<A> =>
  Effect.map(upTo(items.length - 1), (at) => items[at] ?? items[0])
const aWhile = (most: number) => Effect.flatMap(upTo(most), (ms) => Effect.sleep(ms))

const agents = [
  SkeinTest.agent("lead", { permission: { task: "allow" } }),
  SkeinTest.agent("bounded", { permission: { task: "allow" }, budget: { tokens: 25_000 } }),
  SkeinTest.agent("worker"),
  SkeinTest.agent("frugal", { budget: { tokens: 6_000, steps: 3 } })
]

const tools = [SkeinTest.tool("slow", ({ ms }) => Effect.as(Effect.sleep(Number(ms)), "slept"))]

/** The number of tokens that the model counts for the input of a request. */
const inputOf = ({ messages, tools }: ModelRequest): number =>
  Math.ceil((JSON.stringify(messages).length + JSON.stringify(tools).length) / 4)

const aCall = (request: ModelRequest) =>
  Effect.gen(function*() {
    const n = yield* upTo(1_000_000)
    const hasTasks = request.tools.some(({ name }) => name === "task")
    if (!hasTasks || (yield* upTo(3)) === 0) return { tool: "slow", input: { ms: yield* upTo(60), n } }
    const subagent_type = yield* oneOf("lead", "worker", "worker", "bounded", "frugal")
    const background = (yield* upTo(3)) === 0
    return { tool: "task", input: { description: `task ${n}`, prompt: `p ${n}`, subagent_type, background } }
  })

/** A model with answers of any length, which starts tasks, sometimes fails, and takes time. */
const anything = (request: ModelRequest) =>
  Effect.gen(function*() {
    const output = yield* oneOf(10, 300, 2_000, yield* upTo(8_000))
    const tokens = { input: inputOf(request), output, reasoning: (yield* upTo(5)) === 0 ? output : 0 }
    const delay = { first: yield* upTo(50) }
    switch (yield* upTo(9)) {
      case 0:
        return Scripted.fault(yield* oneOf("server" as const, "overloaded" as const), {}, { text: "half", delay })
      case 1:
        return { text: "", tokens, delay }
      case 2:
      case 3:
      case 4:
      case 5: {
        const calls = yield* Effect.forEach(Array.from({ length: 1 + (yield* upTo(3)) }), () => aCall(request))
        return { text: "I work", calls: calls.map((call, i) => ({ ...call, id: `call_${i}` })), tokens, delay }
      }
      default:
        return { text: "an answer ".repeat(10), tokens, delay }
    }
  })

const aLimit: Effect.Effect<Limit> = Effect.gen(function*() {
  const tokens = 3_000 + (yield* upTo(60_000))
  return yield* oneOf<Limit>(
    { tokens },
    { tokens, steps: 5 + (yield* upTo(30)) },
    { usd: `${(tokens * 1.5 / 1_000_000).toFixed(6)}` },
    { tokens, usd: `${(tokens * 1.5 / 1_000_000).toFixed(6)}`, tasks: 1 + (yield* upTo(6)) }
  )
})

const scene = (seed: number) => {
  const script = Scripted.make({ "*": anything })
  const program = Effect.gen(function*() {
    const [budget, session, storage, tasks] = yield* Effect.all([Budget, Session, SessionStorage, Tasks])
    const limit = yield* aLimit
    const { id } = yield* root({ budget: limit })
    const timeout = Effect.gen(function*() {
      return (yield* upTo(3)) === 0 ? yield* upTo(300) : 360_000_000
    })
    const user = Effect.gen(function*() {
      yield* aWhile(100)
      return yield* Effect.exit(Effect.timeoutOption(session.prompt(id, "Go on"), yield* timeout))
    })
    const embedder = Effect.gen(function*() {
      yield* aWhile(100)
      const own = (yield* upTo(1)) === 0 ? {} : { budget: yield* aLimit }
      const agent = yield* oneOf("lead", "worker", "bounded")
      const request = { parentID: id, agent, description: "mine", prompt: "p", byUser: true, ...own }
      return yield* Effect.exit(Effect.timeoutOption(tasks.run(request), yield* timeout))
    })
    const stopper = Effect.gen(function*() {
      yield* aWhile(400)
      const [victim] = yield* Random.shuffle(yield* treeOf(id))
      if (victim !== undefined && (yield* upTo(2)) === 0) yield* session.stop(victim.id)
    })
    yield* Effect.all([user, user, embedder, embedder, embedder, stopper], { concurrency: "unbounded" })
    // Background work ends without help.
    yield* Effect.iterate(true, {
      while: (busy) => busy,
      body: () =>
        Effect.gen(function*() {
          yield* Effect.sleep(1_000)
          const runs = (yield* storage.runs({ rootID: id })).rows
          const all = yield* Effect.forEach(yield* treeOf(id), (info) => session.status(info.id))
          expect(yield* Clock.currentTimeMillis, JSON.stringify(all)).toBeLessThan(1_000_000)
          return runs.some(({ state }) => state !== "settled") || all.some(({ type }) => type !== "idle")
        })
    })
    yield* expectStill(id, script)
    const most = Math.max(0, ...script.requests.map(inputOf)) + 256
    const within = (used: number, bound: number, slack: number, what: string) =>
      expect(used, what).toBeLessThanOrEqual(bound * 1.03 + slack)
    const usedOf = ({ tokens }: { readonly tokens: { readonly input: number; readonly output: number } }) =>
      tokens.input + tokens.output
    const infos = yield* treeOf(id)
    for (const info of infos) {
      expect((yield* budget.of(info.id)).map(({ kept }) => kept), "nothing stays held").toEqual(
        (yield* budget.of(info.id)).map(() => ({}))
      )
    }
    const { budget: account } = yield* sessionOf(id)
    within(Number(account?.spent.tokens), limit.tokens ?? Number.POSITIVE_INFINITY, most, "tokens of the root")
    within(Number(account?.spent.usd), Number(limit.usd ?? "1000"), most * 2 / 1_000_000, "money of the root")
    within(Number(account?.spent.steps), limit.steps ?? Number.POSITIVE_INFINITY, 0, "steps of the root")
    within(Number(account?.spent.tasks), limit.tasks ?? Number.POSITIVE_INFINITY, 0, "tasks of the root")
    const { rows } = yield* storage.runs({ rootID: id })
    for (const { budget: given, outcome } of rows) {
      if (outcome === undefined) continue
      within(usedOf(outcome.usage), given?.tokens ?? Number.POSITIVE_INFINITY, most, "tokens of a task")
      within(Number(outcome.usage.cost), Number(given?.usd ?? "1000"), most * 2 / 1_000_000, "money of a task")
      within(outcome.usage.steps, given?.steps ?? Number.POSITIVE_INFINITY, 0, "steps of a task")
      if (outcome.status !== "failed") continue
      expect(["defect", "StorageError", "BudgetInvalid"], outcome.error.message).not.toContain(outcome.error.tag)
      expect(outcome.error.message).not.toContain("strict provider")
    }
    return {
      requests: script.requests.map(({ maxOutputTokens, origin }) => `${origin.path.join("/")} ${maxOutputTokens}`),
      spent: account?.spent,
      ends: rows.map(({ outcome }) => outcome?.status)
    }
  })
  const config = {
    limits: { concurrency: 1 + seed % 4, max_tasks: 60 },
    retry: { attempts: 3, base: 10, max_delay: 20 }
  }
  const layer = SkeinTest.layer(script, { agents, tools, config })
  return simulate(program.pipe(Effect.scoped, Effect.provide(layer)), { seed, maxSlice: 200, limit: 8_000_000 })
}

describe("budgets at several levels", () => {
  it("are not exceeded, and nothing deadlocks, whatever agents, users and stops do", () => {
    const ends = new Set<string | undefined>()
    for (const seed of seeds(1, 40)) for (const end of scene(seed).ends) ends.add(end)
    expect([...ends]).toEqual(expect.arrayContaining(["completed", "budget_exhausted", "stopped"]))
  }, 120_000)

  it("end the same way with the same seed", () => {
    expect(scene(6)).toEqual(scene(6))
  }, 30_000)
})
