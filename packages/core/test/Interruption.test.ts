import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import { Bus } from "@skein/core/Bus"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { none as nobody } from "effect/FiberId"
import { simulate } from "./support/simulate.ts"
import { expectStill, root } from "./support/tree.ts"

const agents = [
  SkeinTest.agent("lead", { permission: { task: "allow" } }),
  SkeinTest.agent("worker", { steps: 4 })
]

const slow = SkeinTest.tool("slow", ({ ms }) => Effect.as(Effect.sleep(Number(ms)), "slept"), { effect: "never" })
const quick = SkeinTest.tool("quick", () => Effect.succeed("at once"))

/** Three levels: 1 root, 2 leads, 4 workers, with words, calls, retries and waits on all of them. */
const make = () => {
  const script = Scripted.make({
    build: [
      { text: "Let me see.", calls: [{ tool: "quick" }, { tool: "task", input: { description: "one", prompt: "p", subagent_type: "lead" } }, { tool: "task", input: { description: "two", prompt: "p", subagent_type: "lead" } }], delay: { first: 10 } },
      { text: "The end.", delay: { first: 10 } }
    ],
    lead: [
      { ...Scripted.tasks({ worker: "a" }, { worker: "b" }), delay: { connect: 5 } },
      { text: "lead is done", delay: { first: 20 } }
    ],
    worker: [
      { text: "I look", calls: [{ tool: "slow", input: { ms: 50 } }, { tool: "quick" }], delay: { first: 5, between: 7 }, pieces: 3 },
      Scripted.fault("server", {}, { text: "half a sen" }),
      { text: "worker is done", delay: { between: 100 }, pieces: 3 }
    ]
  })
  return { script, layer: SkeinTest.layer(script, { agents, tools: [slow, quick], config: { limits: { concurrency: 2 } } }) }
}

const afterwards = Effect.fnUntraced(function*(id: SessionID, script: Scripted.Scripted) {
  yield* expectStill(id, script)
  const before = script.requests.length
  yield* Effect.sleep("1 hour")
  expect(script.requests.length, "nothing wakes by itself").toBe(before)
  yield* expectStill(id, script)
  expect((yield* Session.prompt(id, "Go on")).text, "the session can be prompted again").toBe("The end.")
  yield* expectStill(id, script)
})

/** Interrupts the prompt after the k-th event; says whether there were as many. */
const interruptedAfter = (k: number, seed: number): boolean => {
  const { layer, script } = make()
  const program = Effect.gen(function*() {
    const bus = yield* Bus
    const { id } = yield* root()
    const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
    let events = 0
    yield* bus.listen({ all: true }, () => {
      if (++events === k) fiber.unsafeInterruptAsFork(nobody)
    })
    const exit = yield* Fiber.await(fiber)
    if (events < k) return false
    if (Exit.isFailure(exit)) expect(Cause.isInterruptedOnly(exit.cause)).toBe(true)
    yield* afterwards(id, script)
    return true
  })
  return simulate(program.pipe(Effect.scoped, Effect.provide(layer)), { seed })
}

describe("a prompt that is interrupted", () => {
  it("leaves nothing running, after whichever event", () => {
    let k = 1
    const start = performance.now()
    while (interruptedAfter(k, k)) k++
    console.log(k, performance.now() - start)
  }, 120_000)
})
