import { describe, expect, it } from "@effect/vitest"
import type { Governor } from "@skein/core/Governor"
import { Session } from "@skein/core/Session"
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import { StorageError } from "@skein/core/StorageError"
import { Tasks } from "@skein/core/Tasks"
import type { SessionID } from "@skein/domain/Id"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { callsMade, childrenOf, expectStill, messagesOf, resultOf, root } from "./support/tree.ts"

const settles = (writes: ReadonlyArray<Write>) =>
  writes.some((write) => write._tag === "Run" && write.run.state === "settled")

/** Storage that rejects outcomes while it is broken, and counts the attempts. */
const makeStorage = () => {
  const state = { broken: true, tries: 0 }
  const layer = Layer.effect(
    SessionStorage,
    Effect.map(SessionStorage, (inner) => ({
      ...inner,
      commit: (writes: ReadonlyArray<Write>) =>
        Effect.suspend(() => {
          if (settles(writes)) state.tries++
          return state.broken && settles(writes)
            ? Effect.fail(new StorageError({ operation: "commit", reason: "full", message: "The disk is full." }))
            : inner.commit(writes)
        })
    }))
  ).pipe(Layer.provide(SessionStorage.layerMemory))
  return { layer, state }
}

const scene = (
  background: boolean,
  body: (at: {
    readonly id: SessionID
    readonly script: Scripted.Scripted
    readonly state: ReturnType<typeof makeStorage>["state"]
    /** How often the model and the bus got the outcome. */
    readonly reports: Effect.Effect<{ readonly model: number; readonly bus: number }, unknown, Session>
  }) => Effect.Effect<void, unknown, Governor | Session | SessionStorage | Tasks>
) => {
  const { layer, state } = makeStorage()
  const script = Scripted.make({
    build: (request) =>
      request.origin.step === 0
        ? Scripted.call("task", { description: "d", prompt: "p", subagent_type: "worker", background })
        : "well",
    worker: [{ text: "42 geese", delay: { first: 100 } }]
  })
  const program = Effect.gen(function*() {
    const { id } = yield* root()
    const events = yield* record({ rootID: id })
    const reports = Effect.map(messagesOf(id), (messages) => ({
      model: JSON.stringify(messages).split("42 geese").length - 1,
      bus: events.of("subagent.completed").length
    }))
    yield* body({ id, script, state, reports })
  })
  const agents = [SkeinTest.agent("worker")]
  simulate(
    program.pipe(Effect.scoped, Effect.provide(SkeinTest.layer(script, { agents, storage: layer })), Effect.orDie),
    { seed: 1 }
  )
}

describe("an outcome that cannot be stored", () => {
  it("is stored and reported once, as soon as that is possible; until then nothing hangs", () =>
    scene(true, ({ id, script, state, reports }) =>
      Effect.gen(function*() {
        const session = yield* Session
        yield* session.prompt(id, "Go")
        yield* session.untilIdle(id)
        expect(yield* reports).toEqual({ model: 0, bus: 0 })
        yield* Effect.sleep("1 hour")
        expect(state.tries, "it is retried in growing intervals").toBeLessThan(150)
        state.broken = false
        yield* Effect.sleep("31 seconds")
        yield* session.untilIdle(id)
        expect(yield* reports).toEqual({ model: 1, bus: 1 })
        expect(script.requests.filter(({ origin }) => origin.sessionID === id)).toHaveLength(3)
        yield* Effect.sleep("1 hour")
        expect(yield* reports).toEqual({ model: 1, bus: 1 })
        yield* expectStill(id, script)
      })))

  it("does not delay a stop, wakes nothing after it, and is reported with the next prompt", () =>
    scene(true, ({ id, script, state, reports }) =>
      Effect.gen(function*() {
        const session = yield* Session
        yield* session.prompt(id, "Go")
        yield* Effect.sleep("10 seconds")
        const began = yield* Clock.currentTimeMillis
        yield* session.stop(id)
        expect((yield* Clock.currentTimeMillis) - began).toBeLessThan(2_000)
        state.broken = false
        const requests = script.requests.length
        yield* Effect.sleep("1 hour")
        expect(script.requests.length, "nothing wakes without a reason").toBe(requests)
        expect(yield* reports).toEqual({ model: 0, bus: 1 })
        yield* session.prompt(id, "Go on")
        expect(yield* reports).toEqual({ model: 1, bus: 1 })
        yield* expectStill(id, script)
      })))

  it("does not delay the next run of the same task", () =>
    scene(true, ({ id, script, state, reports }) =>
      Effect.gen(function*() {
        const [session, tasks] = yield* Effect.all([Session, Tasks])
        yield* session.prompt(id, "Go")
        const [child] = yield* childrenOf(id)
        const request = { parentID: id, agent: "worker", description: "d", prompt: "more", byUser: true }
        const next = yield* Effect.fork(tasks.run({ ...request, taskID: child!.id }))
        yield* Effect.sleep("1650 millis")
        state.broken = false
        expect(yield* Fiber.join(next)).toMatchObject({ status: "completed" })
        yield* Effect.sleep("1 minute")
        yield* session.untilIdle(id)
        expect(yield* reports).toEqual({ model: 1, bus: 2 })
        yield* expectStill(id, script)
      })))

  it("is reported later to a caller that waited for it, and wakes nothing", () =>
    scene(false, ({ id, script, state, reports }) =>
      Effect.gen(function*() {
        const session = yield* Session
        yield* session.prompt(id, "Go")
        expect((yield* callsMade(id)).map(resultOf)).toEqual([expect.stringContaining("The disk is full.")])
        state.broken = false
        const requests = script.requests.length
        yield* Effect.sleep("1 hour")
        expect(script.requests.length, "nothing wakes without a reason").toBe(requests)
        yield* session.prompt(id, "Go on")
        expect(yield* reports).toEqual({ model: 1, bus: 1 })
        yield* expectStill(id, script)
      })))
})
