import { expect, it } from "@effect/vitest"
import { Governor } from "@skein/core/Governor"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { ToolError } from "@skein/core/Tool"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { agent, layer, tool } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as MetricState from "effect/MetricState"
import * as TestClock from "effect/TestClock"
import { begin, touching, waiting, with_ } from "./support/asking.ts"
import { send as sendAt } from "./support/governed.ts"
import { root } from "./support/tree.ts"

/** The current values, by name and labels: the sum of a counter, or number and sum of a histogram. */
const counted = () =>
  new Map(
    Metric.unsafeSnapshot().flatMap(({ metricKey, metricState }): ReadonlyArray<readonly [string, Counted]> => {
      const labels = metricKey.tags.filter(({ key }) => key !== "unit").map(({ key, value }) => `${key}=${value}`)
      const name = [metricKey.name, ...labels].join(" ")
      if (MetricState.isCounterState(metricState)) return [[name, { count: 0, sum: Number(metricState.count) }]]
      return MetricState.isHistogramState(metricState)
        ? [[name, { count: metricState.count, sum: metricState.sum }]]
        : []
    })
  )

interface Counted {
  readonly count: number
  readonly sum: number
}

/** The values added while an effect runs: the registry belongs to the process. */
const countedBy = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const before = counted()
    return Effect.map(effect, () => {
      const all = [...counted()].map(([name, { count, sum }]) =>
        [name, {
          count: count - (before.get(name)?.count ?? 0),
          sum: Number((sum - (before.get(name)?.sum ?? 0)).toFixed(9))
        }] as const
      )
      return Object.fromEntries(all.filter(([name, { count, sum }]) => / /.test(name) && (count !== 0 || sum !== 0)))
    })
  })

const model = "gen_ai.provider.name=scripted gen_ai.request.model=model"
const agents = [agent("worker")]

it.effect("requests, tokens, cost, calls and tasks are counted", () => {
  const used = { tokens: { input: 100, output: 20, reasoning: 0, cacheRead: 40, cacheWrite: 0 } }
  const script = Scripted.make({
    build: [Scripted.call("broken", {}), Scripted.tasks({ worker: "Look" }), Scripted.text("Done.", used)],
    worker: [
      Scripted.fault("overloaded", { retryable: true }),
      Scripted.call("slow", {}),
      Scripted.text("Found.", { delay: { first: 1_000 } })
    ]
  }, { providerID: "scripted", modelID: "model", price: { input: "10", output: "100" } })
  const tools = [
    tool("slow", () => Effect.as(Effect.sleep(2_000), "here")),
    tool("broken", () => Effect.fail(new ToolError({ kind: "failed", message: "no" })))
  ]
  return Effect.gen(function*() {
    const { id } = yield* root()
    const fiber = yield* Effect.fork(countedBy(Session.prompt(id, "Begin")))
    yield* TestClock.adjust("1 minute")
    const all = yield* Fiber.join(fiber)
    const request = (outcome: string) =>
      all[
        `gen_ai.client.operation.duration ${model} gen_ai.operation.name=chat skein.purpose=turn skein.outcome=${outcome}`
      ]
    expect(request("completed")).toEqual({ count: 5, sum: 1 })
    expect(request("overloaded")).toEqual({ count: 1, sum: 0 })
    expect(all[`skein.model.retries ${model} error.type=overloaded`]).toMatchObject({ sum: 1 })
    expect(all[`gen_ai.client.token.usage ${model} gen_ai.token.type=cache_read`]).toEqual({ count: 1, sum: 40 })
    expect(all[`gen_ai.client.token.usage ${model} gen_ai.token.type=input`]?.count).toBe(5)
    expect(all[`skein.cost ${model}`]?.sum).toBeGreaterThanOrEqual(0.003)
    expect(all["skein.tool.duration gen_ai.tool.name=slow skein.outcome=completed"]).toEqual({ count: 1, sum: 2 })
    expect(all["skein.tool.duration gen_ai.tool.name=broken skein.outcome=failed"]).toMatchObject({ count: 1 })
    expect(all["skein.task.duration gen_ai.agent.name=worker skein.outcome=completed"]?.count).toBe(1)
    // Every increase was matched by a decrease.
    expect(Object.keys(all).filter((name) => /^skein\.(agents|requests) /.test(name))).toEqual([])
  }).pipe(Effect.provide(layer(script, { agents, tools })))
})

it.effect("waiting agents and requests are counted while they wait", () => {
  const script = Scripted.make({
    build: [Scripted.tasks({ worker: "a" }, { worker: "b" }, { worker: "c" }), "Done."],
    worker: () => Effect.succeed(Scripted.text("Found.", { delay: { first: 60_000 } }))
  })
  const limits = { concurrency: 2, requests: 1 }
  return Effect.gen(function*() {
    const { id } = yield* root()
    const fiber = yield* Effect.fork(countedBy(Session.prompt(id, "Begin")))
    const now = yield* countedBy(TestClock.adjust("30 seconds"))
    expect(now).toMatchObject({
      "skein.agents skein.state=running": { sum: 2 },
      "skein.agents skein.state=queued": { sum: 1 },
      "skein.requests skein.state=sent": { sum: 1 },
      "skein.requests skein.state=waiting": { sum: 1 }
    })
    yield* TestClock.adjust("5 minutes")
    yield* Fiber.join(fiber)
  }).pipe(Effect.provide(layer(script, { agents, config: { limits } })))
})

it.effect("nothing is left after a waiting one is stopped", () => {
  const script = Scripted.make({
    build: [Scripted.tasks({ worker: "a" }, { worker: "b" }, { worker: "c" }), "Done."],
    worker: () => Effect.succeed(Scripted.text("Found.", { delay: { first: 60_000 } }))
  })
  return Effect.gen(function*() {
    const { id } = yield* root()
    const all = yield* countedBy(Effect.gen(function*() {
      const fiber = yield* Effect.fork(Session.prompt(id, "Begin"))
      yield* TestClock.adjust("30 seconds")
      yield* Fiber.interrupt(fiber)
    }))
    expect(Object.keys(all).filter((name) => /^skein\.(agents|requests) /.test(name))).toEqual([])
    expect(all["skein.task.duration gen_ai.agent.name=worker skein.outcome=stopped"]).toMatchObject({ count: 3 })
  }).pipe(Effect.provide(layer(script, { agents, config: { limits: { concurrency: 2, requests: 1 } } })))
})

it.effect("an agent or a request that stops waiting is no longer counted as waiting", () => {
  const script = Scripted.make({ build: ["Done."] })
  return Effect.gen(function*() {
    const governor = yield* Governor
    const { id } = yield* root()
    const gate = governor.requests(script.model)
    const slot = () => governor.slot(id, { queued: () => Effect.void, granted: Effect.void })
    const sender = { rootID: id, urgent: true, queued: () => {} }
    const all = yield* countedBy(Effect.gen(function*() {
      yield* Effect.forkScoped(slot().work(Effect.never))
      yield* Effect.forkScoped(sendAt(gate, sender, Effect.never))
      yield* TestClock.adjust(1)
      const waiting = [
        yield* Effect.fork(slot().work(Effect.never)),
        yield* Effect.fork(sendAt(gate, sender, Effect.never))
      ]
      yield* TestClock.adjust(1)
      yield* Fiber.interruptAll(waiting)
    }))
    expect(all).toMatchObject({
      "skein.agents skein.state=running": { sum: 1 },
      "skein.requests skein.state=sent": { sum: 1 }
    })
    expect(Object.keys(all).filter((name) => /queued|waiting/.test(name))).toEqual([])
  }).pipe(Effect.scoped, Effect.provide(layer(script, { agents, config: { limits: { concurrency: 1, requests: 1 } } })))
})

it.scoped("questions that wait for a person are counted until they are answered", () =>
  Effect.gen(function*() {
    const { id } = yield* root()
    const name = "skein.asks skein.kind=permission"
    const open = () => counted().get(name)?.sum ?? 0
    const before = open()
    const { turn } = yield* begin(id, 1)
    expect(open() - before).toBe(1)
    const [request] = yield* waiting
    yield* Permission.reply(request!.id, "once")
    yield* Fiber.join(turn)
    expect(open() - before).toBe(0)
  }).pipe(with_({ build: [touching("a"), Scripted.text("Done.")] })))

it.effect("a request that was out when its tree was left is counted once, as it is charged", () => {
  const script = Scripted.make({
    build: [{ text: "word ".repeat(100), pieces: 20, delay: { between: 1_000 } }]
  }, { providerID: "scripted", modelID: "model" })
  return Effect.gen(function*() {
    const session = yield* Session
    const { id } = yield* root()
    const prompted = yield* Effect.fork(Effect.either(session.prompt(id, "Begin")))
    yield* TestClock.adjust("5 seconds")
    const leaving = yield* Effect.fork(countedBy(session.leave(id)))
    yield* TestClock.adjust("5 seconds")
    const all = yield* Fiber.join(leaving)
    yield* Fiber.join(prompted)
    const { own } = (yield* session.get(id)).usage
    expect(own.tokens.input).toBeGreaterThan(0)
    expect(all[`gen_ai.client.token.usage ${model} gen_ai.token.type=input`]).toEqual({
      count: 1,
      sum: own.tokens.input
    })
    expect(all[`gen_ai.client.token.usage ${model} gen_ai.token.type=output`]).toEqual({
      count: 1,
      sum: own.tokens.output
    })
  }).pipe(Effect.provide(layer(script)))
})
