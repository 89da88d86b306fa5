import { describe, expect, it } from "@effect/vitest"
import { Answerer } from "@skein/core/Answerer"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { lonely } from "./support/mortal.ts"
import { expectStill, messagesOf, root } from "./support/tree.ts"

const permission = [{ permission: "task", pattern: "*", action: "allow" as const }]
const agents = [SkeinTest.agent("worker", { permission })]

const task = (description: string) => ({
  tool: "task",
  input: { description, prompt: description, subagent_type: "worker" }
})

/** A root with three tasks in parallel, of which two work at a time, and one has its own; each makes a call of 50 ms. */
const script = () =>
  Scripted.make({
    build: (request) =>
      JSON.stringify(request.messages).includes("task_result") || JSON.stringify(request.messages).includes("done by")
        ? { text: "All is done.", delay: { first: 20 } }
        : { text: "I begin", calls: ["a", "b", "outer"].map(task), delay: { first: 20 } },
    worker: (request) => {
      const all = JSON.stringify(request.messages)
      if (!all.includes("\"read\"")) {
        const inner = all.includes("outer") ? [task("inner")] : []
        return { text: "hm", calls: [{ tool: "reads" }, ...inner], delay: { first: 30 } }
      }
      return { text: "done by a worker", delay: { first: 30 } }
    }
  })

/** What an undisturbed tree needs: the root 2 requests, each of its tasks and the one below 2. */
const requests = 10

const lasting = Effect.map(
  Layer.build(SessionStorage.layerMemory),
  (context) => Layer.succeed(SessionStorage, Context.get(context, SessionStorage))
)

/** A process with one more tool, which counts how often it begins. */
const stack = (
  name: string,
  scripted: Scripted.Scripted,
  storage: Layer.Layer<SessionStorage>,
  made: { reads: number },
  duration = 50
) =>
  Effect.provide(SkeinTest.layer(scripted, {
    agents,
    tools: [
      SkeinTest.tool(
        "reads",
        () =>
          Effect.suspend(() => {
            made.reads++
            return Effect.as(Effect.sleep(duration), "read")
          }),
        { effect: "never" }
      )
    ],
    storage,
    owner: lonely(name),
    config: { limits: { concurrency: 2, subagent_depth: 2 } }
  }))

/** Prompts, hands the tree over after this many milliseconds, and continues in another process. */
const handedOverAfter = (after: number) =>
  Effect.scoped(Effect.gen(function*() {
    const storage = yield* lasting
    const made = { reads: 0 }
    const [first, second] = [script(), script()]
    const left = yield* Effect.gen(function*() {
      const events = yield* record()
      const session = yield* Session
      const { id } = yield* root()
      const prompted = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* Effect.sleep(after)
      const isHandedOver = yield* session.handOver(id, 10_000)
      if (isHandedOver) expect(first.open.now).toBe(0)
      expect([...events.of("subagent.failed"), ...events.of("session.error")]).toEqual([])
      const exit = yield* Fiber.await(prompted)
      expect(exit._tag).toBe(isHandedOver ? "Failure" : "Success")
      return { id, isHandedOver }
    }).pipe(stack("first", first, storage, made))
    yield* Effect.gen(function*() {
      const session = yield* Session
      yield* session.resume(left.id)
      yield* session.untilIdle(left.id)
      const { rows } = yield* (yield* SessionStorage).runs({ rootID: left.id })
      expect(rows.map(({ description, outcome }) => [description, outcome?.status]).toSorted()).toEqual(
        [["a", "completed"], ["b", "completed"], ["inner", "completed"], ["outer", "completed"]]
      )
      expect(JSON.stringify(yield* messagesOf(left.id))).not.toContain("unknown")
      yield* expectStill(left.id, second)
    }).pipe(stack("second", second, storage, made))
    // No request was sent again, and no call was made again.
    expect([first.requests.length + second.requests.length, made.reads]).toEqual([requests, 4])
    return left.isHandedOver ? second.requests.length : 0
  }))

/** A tree whose worker makes a call of a minute. */
const during = <A, E, R>(
  body: (id: SessionID, session: typeof Session.Service) => Effect.Effect<A, E, R>
) =>
  Effect.scoped(Effect.gen(function*() {
    const storage = yield* lasting
    const made = { reads: 0 }
    const scripted = script()
    return yield* Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      const prompted = yield* Effect.fork(Session.prompt(id, "Go"))
      const result = yield* body(id, session)
      const { text } = yield* Fiber.join(prompted)
      expect([text, scripted.requests.length, made.reads]).toEqual(["All is done.", requests, 4])
      return result
    }).pipe(stack("only", scripted, storage, made, 60_000))
  }))

describe("a tree that is handed over while it works", () => {
  it("is interrupted nowhere, and continues elsewhere, at any time", () => {
    const counts = new Set<number>()
    for (let after = 5; after <= 405; after += 40) counts.add(simulate(handedOverAfter(after), { seed: after }))
    // It was handed over early and late, and not at all after its end.
    expect(counts.size).toBeGreaterThan(3)
    expect(counts).toContain(0)
  })

  it("stays while it makes a call", () => {
    const found = simulate(
      during((id, session) =>
        Effect.gen(function*() {
          yield* Effect.sleep(30_000)
          return [yield* session.isMovable(id), yield* session.handOver(id, 10_000)]
        })
      ),
      { seed: 1 }
    )
    expect(found).toEqual([false, false])
  })

  it("stays if it does not come to rest in time", () => {
    const found = simulate(
      during((id, session) =>
        Effect.gen(function*() {
          // The models of the first workers answer now.
          yield* Effect.sleep(40)
          return [yield* session.isMovable(id), yield* session.handOver(id, 10_000)]
        })
      ),
      { seed: 1 }
    )
    expect(found).toEqual([true, false])
  })

  it("stays if somebody answers its questions only here", () => {
    const found = simulate(
      during((id, session) =>
        Effect.gen(function*() {
          yield* Effect.sleep(40)
          yield* Answerer.set(id, "nobody")
          return [yield* session.isMovable(id), yield* session.handOver(id, 10_000)]
        })
      ),
      { seed: 1 }
    )
    expect(found).toEqual([false, false])
  })
})
