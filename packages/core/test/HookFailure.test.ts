import { describe, expect, it } from "@effect/vitest"
import { type Hook, on } from "@skein/core/Hooks"
import { Session } from "@skein/core/Session"
import { ToolError } from "@skein/core/Tool"
import { type HookAnswer, type HookEvent, hookEvents } from "@skein/domain/Hook"
import { call, make, tasks } from "@skein/testing/ScriptedProvider"
import { agent, layer, tool } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import { callsMade, expectStill, resultOf, root } from "./support/tree.ts"

/** Runs a turn with a call, a question and a task, without a time limit. */
const run = (hooks: ReadonlyArray<Hook>) => {
  let made = 0
  const act = tool("act", () => Effect.sync(() => `acted ${++made}`))
  const wish = tool("wish", () => Effect.succeed("granted"), {
    authorise: () => Effect.succeed([{ permission: "wish", patterns: ["*"], always: [], metadata: {} }])
  })
  const script = make({
    build: [call("act", {}), call("wish", {}), tasks({ worker: "p" }), "all done"],
    worker: ["done"]
  })
  const log: Array<string> = []
  const logger = Logger.make<unknown, void>(({ logLevel, message }) =>
    void log.push(`${logLevel.label} ${String(message)}`)
  )
  return Effect.gen(function*() {
    const { id } = yield* root()
    const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
    yield* TestClock.adjust("10 minutes")
    const { text } = yield* Fiber.join(fiber)
    yield* expectStill(id, script)
    const errors = log.filter((line) => line.startsWith("ERROR"))
    return { text, errors, made, results: (yield* callsMade(id)).map(resultOf) }
  }).pipe(
    Effect.provide(layer(script, { hooks, tools: [act, wish], agents: [agent("worker")], rules: { wish: "ask" } })),
    Effect.provide(Logger.replace(Logger.defaultLogger, logger))
  )
}

/** The possible faults of a hook, and their messages. */
const faults: ReadonlyArray<
  readonly [fault: string, run: () => Effect.Effect<HookAnswer | void, unknown>, why: string]
> = [
  ["hangs", () => Effect.never, "it did not answer within 60 s"],
  ["fails", () => Effect.fail(new ToolError({ kind: "io", message: "no disk" })), "no disk"],
  ["dies", () => Effect.die("a bug"), "a bug"],
  [
    "throws",
    () => {
      throw new Error("at once")
    },
    "at once"
  ],
  ["interrupts itself", () => Effect.interrupt, "it was interrupted"],
  [
    "answers something else",
    () => Effect.succeed({ permissionDecision: "deny" } as HookAnswer),
    "its answer has not the form"
  ],
  ["decides what it cannot", () => Effect.succeed({ decision: "block" } as unknown as HookAnswer), "decision Expected"]
]

/** Events that need the answers of their hooks. */
const closed: ReadonlyArray<HookEvent> = ["PreToolUse", "PermissionRequest"]

describe.each(faults)("a hook that %s", (_, behave, why) => {
  it.effect("before a call blocks it", () =>
    Effect.gen(function*() {
      const { errors, made, results, text } = yield* run([on("PreToolUse", behave, { name: "guard", matcher: "act" })])
      expect(results[0]).toMatch(/^The call was not made, because the PreToolUse hook \(guard\) failed: /)
      expect(results[0]).toContain(why)
      expect({ errors, made, text }).toEqual({ errors: [], made: 0, text: "all done" })
    }))

  it.effect("for a permission request denies it", () =>
    Effect.gen(function*() {
      const hooks = [
        on("PermissionRequest", () => Effect.succeed({ decision: "allow" } as const)),
        on("PermissionRequest", behave, { name: "judge" })
      ]
      const { results } = yield* run(hooks)
      expect(results[1]).toMatch(/^Permission denied, because the PermissionRequest hook \(judge\) failed: /)
      expect(results[1]).toContain(why)
    }))

  it.effect("at any other event is reported, and blocks nothing forever", () =>
    Effect.gen(function*() {
      // CompactionNow.test.ts and HookEnds.test.ts test these two.
      const apart: ReadonlyArray<HookEvent> = ["PreCompact", "SessionEnd"]
      const others = hookEvents.filter((event) => !closed.includes(event) && !apart.includes(event))
      const { errors, results, text } = yield* run([
        on("PermissionRequest", () => Effect.succeed({ decision: "ask" } as const)),
        ...others.map((event) => on(event, behave, { name: "listener" }))
      ])
      expect(text).toBe("all done")
      expect(results[0]).toBe("acted 1")
      for (const event of others) {
        expect(errors.find((line) => line.startsWith(`ERROR The ${event} hook (listener) failed: `)), event).toContain(
          why
        )
      }
    }))
})

it.effect("a hook has its own time limit", () =>
  Effect.gen(function*() {
    const slow = (timeout: string) =>
      on("PreToolUse", () => Effect.sleep("90 seconds"), { matcher: "act", timeout: timeout as "1 second" })
    expect((yield* run([slow("2 minutes")])).results[0]).toBe("acted 1")
    expect((yield* run([slow("2 seconds")])).results[0]).toContain("it did not answer within 2 s")
  }))

it.effect("a hook that cannot block gets that as its error", () =>
  Effect.gen(function*() {
    const hook = on("SessionStart", () => Effect.succeed({ decision: "deny" } as unknown as { decision: "allow" }))
    const { errors, text } = yield* run([hook])
    expect(text).toBe("all done")
    expect(errors).toEqual([expect.stringContaining("its answer has not the form of one to SessionStart")])
  }))
