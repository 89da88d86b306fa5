import { describe, expect, it } from "@effect/vitest"
import { Bus } from "@skein/core/Bus"
import { Session } from "@skein/core/Session"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { share, stride } from "@skein/testing/Seeds"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { none as nobody } from "effect/FiberId"
import { makeRecordedStorage } from "./support/storage.ts"
import { expectStill, root } from "./support/tree.ts"

const agents = [
  SkeinTest.agent("lead", { permission: { task: "allow" } }),
  SkeinTest.agent("worker", { steps: 4 })
]

const tools = [
  SkeinTest.tool("slow", ({ ms }) => Effect.as(Effect.sleep(Number(ms)), "slept"), { effect: "never" }),
  SkeinTest.tool("quick", () => Effect.succeed("at once")),
  SkeinTest.tool("guarded", () => Effect.succeed("done"), {
    authorise: () => Effect.succeed([{ permission: "edit", patterns: ["a.ts"], always: [], metadata: {} }])
  })
]

const task = (description: string, agent: string) => ({
  tool: "task",
  input: { description, prompt: description, subagent_type: agent }
})

/** Three levels: 1 root, 2 leads, 3 workers; with text, calls, retries, a question and a queue. */
const make = () => {
  const script = Scripted.make({
    build: [
      {
        text: "Let me see.",
        calls: [{ tool: "quick" }, task("one", "lead"), task("two", "lead")],
        delay: { first: 10 }
      },
      { text: "The end.", delay: { first: 10 } }
    ],
    lead: (request) =>
      request.messages.some((message) => message.role === "tool")
        ? { text: "lead is done", delay: { first: 20 } }
        : { calls: [task("a", "worker"), ...(Scripted.lastText(request) === "one" ? [task("b", "worker")] : [])] },
    worker: [
      {
        text: "I look",
        calls: [{ tool: "slow", input: { ms: 50 } }, { tool: "quick" }],
        delay: { first: 5, between: 7 },
        pieces: 2
      },
      Scripted.fault("server", {}, { text: "half a sen" }),
      { text: "worker is done", calls: [{ tool: "guarded" }], delay: { between: 300 }, pieces: 2 },
      "the conclusion"
    ]
  })
  const config = { limits: { concurrency: 2 } }
  const { layer: storage } = makeRecordedStorage({ latency: 1 })
  return { script, layer: SkeinTest.layer(script, { agents, tools, config, storage, asks: "person" }) }
}

/** Nothing runs or wakes, and the session can be prompted again. */
const expectStopped = Effect.fnUntraced(function*(id: SessionID, script: Scripted.Scripted) {
  yield* expectStill(id, script)
  const before = script.requests.length
  yield* Effect.sleep("1 hour")
  expect(script.requests.length, "requests after an hour").toBe(before)
  yield* expectStill(id, script)
  const again = yield* Effect.exit(Session.prompt(id, "Go on", { tools: { task: false, quick: false } }))
  expect(again).toMatchObject({ _tag: "Success", value: { text: "The end." } })
  yield* expectStill(id, script)
})

/** Ends a session while its fiber waits for the answer. */
type Ending = (id: SessionID, fiber: Fiber.RuntimeFiber<unknown, unknown>) => Effect.Effect<unknown, unknown, Session>

const byInterruption: Ending = (_, fiber) => Fiber.interrupt(fiber)
const byStop: Ending = (id) => Effect.flatMap(Session, (session) => session.stop(id))

/** Ends a session after the k-th event of its turn; returns whether there were that many. */
const endedAfterEvent = (k: number, ending: Ending): boolean => {
  const { layer, script } = make()
  const program = Effect.gen(function*() {
    const bus = yield* Bus
    const { id } = yield* root()
    const reached = yield* Effect.makeLatch()
    const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
    let events = 0
    yield* bus.listen({ all: true }, () => {
      if (++events !== k) return
      reached.unsafeOpen()
      // Immediately, and not when another fiber gets to it.
      if (ending === byInterruption) fiber.unsafeInterruptAsFork(nobody)
    })
    yield* Effect.raceFirst(reached.await, Effect.sleep("10 minutes"))
    yield* ending(id, fiber)
    const exit = yield* Fiber.await(fiber)
    if (events < k) return false
    if (Exit.isFailure(exit) && ending === byInterruption) expect(Cause.isInterruptedOnly(exit.cause)).toBe(true)
    if (Exit.isFailure(exit) && ending === byStop) expect(String(Cause.squash(exit.cause))).toContain("was stopped")
    yield* expectStopped(id, script)
    return true
  })
  return simulate(program.pipe(Effect.scoped, Effect.provide(layer)), { seed: k })
}

/** Interrupts the prompt before the n-th operation of any fiber; returns whether there were that many. */
const endedBeforeOperation = (n: number, seed: number): boolean => {
  const { layer, script } = make()
  let interrupt = () => {}
  let done = 0
  const program = Effect.gen(function*() {
    const { id } = yield* root()
    const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
    done = 0
    interrupt = () => fiber.unsafeInterruptAsFork(nobody)
    yield* Effect.raceFirst(Fiber.await(fiber), Effect.sleep("10 minutes"))
    if (done < n) return false
    yield* Fiber.await(fiber)
    yield* expectStopped(id, script)
    return true
  })
  const step = () => {
    if (++done === n) interrupt()
  }
  return simulate(program.pipe(Effect.scoped, Effect.provide(layer)), { seed, step })
}

describe("a tree of three levels that is ended", () => {
  it("leaves nothing behind when its prompt is interrupted, after any event", () => {
    let k = 1
    while (endedAfterEvent(k, byInterruption)) k += stride
    expect(k).toBeGreaterThan(150)
  }, 120_000)

  it("leaves nothing behind when it is stopped, after any event", () => {
    let k = 1
    while (endedAfterEvent(k, byStop)) k += 5 * stride
    expect(k).toBeGreaterThan(150)
  }, 120_000)

  it("leaves nothing behind when its prompt is interrupted between any two operations", () => {
    let tried = 0
    for (let n = 1; endedBeforeOperation(n, tried); n += (211 + tried) * stride) tried++
    expect(tried).toBeGreaterThanOrEqual(share(26))
  }, 120_000)
})
