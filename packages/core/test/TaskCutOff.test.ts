import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { callsMade, childrenOf, expectStill, resultOf, root } from "./support/tree.ts"

const ends = {
  "interrupting its prompt": (_: SessionID, fiber: Fiber.RuntimeFiber<unknown, unknown>) => Fiber.interrupt(fiber),
  "stopping its session": (id: SessionID) => Effect.flatMap(Session, (session) => session.stop(id))
}

it.effect.each(Object.entries(ends))("a caller that was stopped by %s learns how its tasks ended", ([, end]) => {
  const hold = SkeinTest.tool("hold", () => Effect.never)
  const script = Scripted.make({
    build: [Scripted.tasks({ worker: "p" }), "continued"],
    worker: [{ ...Scripted.call("hold", {}), text: "Half of it." }]
  })
  return Effect.gen(function*() {
    const { id } = yield* root()
    const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
    yield* TestClock.adjust("1 second")
    yield* end(id, fiber)
    const [child] = yield* childrenOf(id)
    const [part] = yield* callsMade(id)
    expect(part?.state).toMatchObject({
      status: "error",
      metadata: { sessionId: child?.id, status: "stopped", durationMs: 1_000 }
    })
    expect(part === undefined ? "" : resultOf(part)).toMatch(
      new RegExp(
        `^task_id: ${child?.id} \\(for resuming to continue this task if needed\\)\nstate: stopped\n\n`
          + "<task_error>\n[^<]+\n</task_error>\n\n<task_result>\nHalf of it\\.\n</task_result>$"
      )
    )
    yield* expectStill(id, script)
    yield* Session.prompt(id, "Go on")
    expect(JSON.stringify(script.requests.at(-1)?.messages)).toContain("state: stopped")
  }).pipe(Effect.provide(SkeinTest.layer(script, { agents: [SkeinTest.agent("worker")], tools: [hold] })))
})
