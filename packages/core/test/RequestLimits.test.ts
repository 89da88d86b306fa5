import { describe, expect, it } from "@effect/vitest"
import { Governor } from "@skein/core/Governor"
import type { ModelRequest } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import type { SessionID } from "@skein/domain/Id"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { childrenOf, expectStill, messagesOf, root } from "./support/tree.ts"

const worker = SkeinTest.agent("worker")
const team = (count: number): Scripted.Script => [
  Scripted.tasks(...Array.from({ length: count }, (_, i) => ({ worker: `p${i}` }))),
  "done"
]
const traffic = (script: Scripted.Scripted) =>
  Effect.map(Governor, (governor) => governor.requests(script.model).load())

/** A script that records when each request of each session arrived. */
const noting = (answer: (nth: number, id: SessionID) => Scripted.ScriptedStep | string) => {
  const times: Array<number> = []
  const counts = new Map<SessionID, number>()
  const script = ({ origin: { sessionID } }: ModelRequest) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      counts.set(sessionID, (counts.get(sessionID) ?? 0) + 1)
      return answer(times.push(now) - 1, sessionID)
    })
  return { script, times, counts }
}

const statusesOf = (id: SessionID) =>
  Effect.map(
    record({ sessionID: id }),
    (events) => () => events.of("session.status").map((event) => event.properties.status)
  )

describe("a pause that a provider requests from one of many subagents", () => {
  const pause = (count: number, fault: Scripted.ScriptedStep, requests: number, max_retry_after = 3_600_000) => {
    const { counts, script: workerScript, times } = noting((nth) =>
      nth === 0 ? fault : { text: "ok", delay: { first: 5 } }
    )
    const script = Scripted.make({ build: team(count), worker: workerScript })
    const program = Effect.gen(function*() {
      const { id } = yield* root()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("30 minutes")
      const turn = yield* Fiber.join(fiber)
      expect(turn.text).toBe("done")
      const children = yield* childrenOf(id)
      const retries = (yield* Effect.forEach(children, (child) => messagesOf(child.id)))
        .flat().flatMap(({ parts }) => parts.filter((part) => part.type === "retry"))
      yield* expectStill(id, script)
      expect(yield* traffic(script)).toEqual({ held: 0, waiting: 0 })
      return { children, retries, first: times[0] ?? 0, times: times.slice(1).map((time) => time - (times[0] ?? 0)) }
    })
    const config = { limits: { concurrency: count, process_concurrency: count, requests }, retry: { max_retry_after } }
    return Effect.map(Effect.provide(program, SkeinTest.layer(script, { agents: [worker], config })), (found) => ({
      ...found,
      counts,
      most: script.open.most
    }))
  }

  it.effect("delays all of them, and then each asks once, and not all at the same time", () =>
    Effect.gen(function*() {
      const { children, counts, most, retries, times } = yield* pause(
        100,
        Scripted.fault("rate_limit", { retryAfter: 10_000, message: "slow down" }),
        10
      )
      expect(children).toHaveLength(100)
      expect([...counts.values()].toSorted((a, b) => b - a).slice(0, 2), "one asked twice").toEqual([2, 1])
      expect(times).toHaveLength(100)
      // Nine others were in flight when the first one failed.
      const after = times.filter((time) => time > 0)
      expect(after).toHaveLength(91)
      expect(Math.min(...after)).toBe(10_000)
      expect(after.filter((time) => time === 10_000)).toHaveLength(1)
      expect(Math.max(...after)).toBeLessThan(12_000)
      expect(most).toBeLessThanOrEqual(10)
      expect(retries).toMatchObject([{ attempt: 1, error: { tag: "rate_limit", message: "slow down" } }])
    }))

  it.effect("ends at different times for requests that were refused together", () => {
    const { script: build, times } = noting((nth) =>
      nth < 20 ? Scripted.fault("rate_limit", { retryAfter: 10_000 }) : "ok"
    )
    const script = Scripted.make({ build: (request) => Effect.zipRight(Effect.sleep(10), build(request)) })
    return Effect.gen(function*() {
      const sessions = yield* Effect.replicateEffect(root(), 20)
      const all = yield* Effect.fork(
        Effect.forEach(sessions, ({ id }) => Session.prompt(id, "Go"), { concurrency: "unbounded" })
      )
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(all)
      expect(times).toHaveLength(40)
      expect(Math.min(...times.slice(20))).toBeGreaterThanOrEqual(10_010)
      expect(Math.max(...times)).toBeLessThanOrEqual(11_020)
      expect(new Set(times.slice(20)).size).toBeGreaterThan(10)
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })

  it.effect("is no longer than the configured cap", () =>
    Effect.gen(function*() {
      const { times } = yield* pause(10, Scripted.fault("overloaded", { retryAfter: 999_999 }), 1, 60_000)
      expect(Math.min(...times)).toBe(60_000)
    }))

  it.effect("is as long as its own retry delay if the provider names no time", () =>
    Effect.gen(function*() {
      const { first, retries, times } = yield* pause(10, Scripted.fault("rate_limit"), 1)
      expect(retries).toHaveLength(1)
      expect(first + Math.min(...times)).toBe(retries[0]?.next)
    }))

  it.effect("does not start for a request that failed for its own reasons", () =>
    Effect.gen(function*() {
      const { times } = yield* pause(10, Scripted.fault("server"), 1)
      expect(Math.min(...times)).toBe(0)
    }))
})

describe("a request that has to wait", () => {
  const slow = { text: "ok", delay: { first: 25_000 } }
  const config = { limits: { requests: 1 } }

  it.effect("is shown as waiting, and then as working", () => {
    const script = Scripted.make({ build: [slow] })
    return Effect.gen(function*() {
      const [a, b, c] = [yield* root(), yield* root(), yield* root()]
      const statuses = yield* statusesOf(b.id)
      const fibers = []
      for (const { id } of [a, c, b]) {
        fibers.push(yield* Effect.fork(Session.prompt(id, "Go")))
        yield* TestClock.adjust(0)
      }
      expect(statuses()).toEqual([{ type: "busy", step: 0 }, { type: "queued", position: 2 }])
      expect(yield* Effect.flatMap(Session, (session) => session.status(b.id))).toEqual({ type: "queued", position: 2 })
      yield* TestClock.adjust("50 seconds")
      expect(statuses().slice(2)).toEqual([{ type: "busy", step: 0 }])
      yield* TestClock.adjust("25 seconds")
      yield* Fiber.joinAll(fibers)
      expect(script.open).toEqual({ now: 0, most: 1 })
    }).pipe(Effect.scoped, Effect.provide(SkeinTest.layer(script, { config })))
  })

  it.effect("has the full deadlines once it is sent", () => {
    const script = Scripted.make({ build: [{ text: "ok", delay: { connect: 25_000 } }] })
    return Effect.gen(function*() {
      const sessions = yield* Effect.replicateEffect(root(), 5)
      const all = yield* Effect.fork(
        Effect.forEach(sessions, ({ id }) => Session.prompt(id, "Go"), { concurrency: "unbounded" })
      )
      yield* TestClock.adjust("125 seconds")
      expect((yield* Fiber.join(all)).map((turn) => turn.text)).toEqual(["ok", "ok", "ok", "ok", "ok"])
      expect(script.requests).toHaveLength(5)
    }).pipe(Effect.provide(SkeinTest.layer(script, { config: { ...config, deadlines: { connect: 30_000 } } })))
  })

  it.effect("is not sent when it is stopped before", () => {
    const script = Scripted.make({ build: [slow] })
    return Effect.gen(function*() {
      const session = yield* Session
      const [a, b, c] = [yield* root(), yield* root(), yield* root()]
      const fibers = []
      for (const { id } of [a, b, c]) {
        fibers.push(yield* Effect.fork(Effect.either(Session.prompt(id, "Go"))))
        yield* TestClock.adjust(0)
      }
      yield* session.stop(b.id)
      expect(yield* session.status(b.id)).toEqual({ type: "idle" })
      expect(yield* traffic(script)).toEqual({ held: 1, waiting: 1 })
      yield* TestClock.adjust("1 minute")
      expect((yield* Fiber.joinAll(fibers)).map(Either.isRight)).toEqual([true, false, true])
      expect(script.requests.map(({ origin }) => origin.sessionID)).toEqual([a.id, c.id])
      yield* expectStill(b.id, script)
      expect(yield* traffic(script)).toEqual({ held: 0, waiting: 0 })
    }).pipe(Effect.provide(SkeinTest.layer(script, { config })))
  })

  it.effect("waits for a pause that was extended while it waited to be retried", () => {
    const faults = [
      Scripted.fault("rate_limit", { retryAfter: 1_000 }, { delay: { first: 10 } }),
      Scripted.fault("rate_limit", { retryAfter: 9_000 }, { delay: { first: 500 } })
    ]
    const { script: build, times } = noting((nth) => faults[nth] ?? "ok")
    const script = Scripted.make({ build })
    return Effect.gen(function*() {
      const [a, b] = [yield* root(), yield* root()]
      const statuses = yield* statusesOf(a.id)
      const fibers = []
      for (const { id } of [a, b]) fibers.push(yield* Effect.fork(Session.prompt(id, "Go")))
      yield* TestClock.adjust("1 hour")
      yield* Fiber.joinAll(fibers)
      expect(times).toHaveLength(4)
      expect(Math.min(...times.slice(2))).toBe(9_500)
      expect(statuses().map(({ type }) => type)).toEqual(["busy", "retry", "queued", "busy", "idle"])
    }).pipe(Effect.scoped, Effect.provide(SkeinTest.layer(script)))
  })
})

describe("the request for a title", () => {
  const untitled = (scripts: Parameters<typeof Scripted.make>[0], requests: number) => {
    const script = Scripted.make(scripts)
    const program = Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* session.create({ directory: "/work", agent: "build" })
      const fibers = [yield* Effect.fork(session.prompt(id, "Go"))]
      yield* TestClock.adjust(10)
      for (const other of yield* Effect.replicateEffect(root(), 3)) {
        fibers.push(yield* Effect.fork(session.prompt(other.id, "Go")))
      }
      yield* TestClock.adjust("1 hour")
      yield* Fiber.joinAll(fibers)
      return { title: (yield* session.get(id)).title, purposes: script.requests.map(({ origin }) => origin.purpose) }
    })
    const made = SkeinTest.layer(script, { titles: true, config: { limits: { requests } } })
    return Effect.map(Effect.provide(program, made), (found) => ({ ...found, most: script.open.most }))
  }

  it.effect("counts towards the limit, comes after turns, and has its deadlines once it is sent", () =>
    Effect.gen(function*() {
      const slow = { text: "ok", delay: { first: 100_000 } }
      const { most, purposes, title } = yield* untitled({ build: [slow], title: [{ ...slow, text: "Named" }] }, 1)
      expect(purposes).toEqual(["turn", "turn", "turn", "turn", "title"])
      expect(most).toBe(1)
      expect(title).toBe("Named")
    }))

  it.effect("delays turns if the provider requests a pause", () => {
    const { script: build, times } = noting(() => "ok")
    return Effect.gen(function*() {
      const { title } = yield* untitled({ build, title: [Scripted.fault("rate_limit", { retryAfter: 5_000 })] }, 64)
      expect(title).toBe("Go")
      expect(times[0]).toBe(0)
      expect(Math.min(...times.slice(1))).toBe(5_000)
    })
  })
})
