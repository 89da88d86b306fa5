/** Proves that what a session waits for is stored, with when and why, and that no short wait is. */
import { describe, expect, it } from "@effect/vitest"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { Wait } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { touch, touching } from "./support/asking.ts"
import { childrenOf, root } from "./support/tree.ts"

/** The stored waits of the sessions of a tree, as why and how long (ms). */
const waitsOf = Effect.fnUntraced(function*(rootID: SessionID) {
  const storage = yield* SessionStorage
  const found = yield* storage.events({ after: 0, rootID, types: ["session.waited"] })
  return found.map(({ event }) => {
    const wait = event.properties as Wait
    return { ...wait, session: event.sessionID, took: wait.end - wait.start }
  })
})

const agents = [SkeinTest.agent("worker")]

describe("a wait is stored", () => {
  it.effect("for a pause that a provider asked for, until its end, and for the retry that begins it", () => {
    let requests = 0
    const script = Scripted.make({
      build: () => requests++ === 0 ? Scripted.fault("rate_limit", { retryAfter: 20_000 }) : "done"
    })
    return Effect.gen(function*() {
      const [first, second] = [yield* root(), yield* root()]
      const one = yield* Effect.fork(Session.prompt(first.id, "Go"))
      yield* TestClock.adjust("1 second")
      const two = yield* Effect.fork(Session.prompt(second.id, "Go"))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(one)
      yield* Fiber.join(two)
      const [retry] = yield* waitsOf(first.id)
      expect(retry).toMatchObject({ why: "retry", until: retry!.end })
      expect(retry!.took).toBeGreaterThanOrEqual(20_000)
      const [pause, ...others] = yield* waitsOf(second.id)
      expect(others).toEqual([])
      expect(pause).toMatchObject({ why: "pause", origin: "scripted/model", until: pause!.start + 19_000 })
      expect(pause!.took).toBeGreaterThanOrEqual(19_000)
      expect(pause!.took).toBeLessThan(21_000)
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })

  it.effect("for a slot, and for tasks", () => {
    const script = Scripted.make({
      build: [Scripted.tasks({ worker: "a" }, { worker: "b" }), "done"],
      worker: () => ({ text: "found", delay: { first: 5_000 } })
    })
    const config = { limits: { concurrency: 1 } }
    return Effect.gen(function*() {
      const { id } = yield* root()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
      const [, second] = yield* childrenOf(id)
      const found = (yield* waitsOf(id)).map(({ session, took, why }) => ({ session, took, why }))
      expect(found).toContainEqual({ session: second!.id, why: "slot", took: 5_000 })
      expect(found).toContainEqual({ session: id, why: "tasks", took: 10_000 })
      expect(found).toHaveLength(2)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, config })))
  })

  it.effect("for a person, of the session that asks and of none above it", () => {
    const script = Scripted.make({
      build: [Scripted.tasks({ worker: "a" }), "done"],
      worker: [touching("a"), "found"]
    })
    return Effect.gen(function*() {
      const permission = yield* Permission
      const { id } = yield* root()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("3 seconds")
      const [asked] = yield* permission.pending(id)
      yield* permission.reply(asked!.id, "once")
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      const [child] = yield* childrenOf(id)
      const found = (yield* waitsOf(id)).map(({ session, took, why }) => ({ session, took, why }))
      expect(found).toEqual([
        { session: child!.id, why: "person", took: 3_000 },
        { session: id, why: "tasks", took: 3_000 }
      ])
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, asks: "person", tools: [touch] })))
  })

  it.effect("unless it was shorter than a tenth of a second", () => {
    const script = Scripted.make({
      build: [Scripted.tasks({ worker: "a" }, { worker: "b" }), "done"],
      worker: () => ({ text: "found", delay: { first: 40 } })
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
      expect(yield* waitsOf(id)).toEqual([])
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, config: { limits: { concurrency: 1 } } })))
  })
})
