import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { changing, prompted, summaries, summaryOf, use } from "./support/summaries.ts"
import { root } from "./support/tree.ts"

describe("with summaries in the config, a summary", () => {
  const config = { summaries: true }

  it.effect("is renewed alongside the session after each turn that changed files, at any depth", () => {
    const script = Scripted.make({
      build: [changing, "one", "two", Scripted.tasks({ worker: "Change b" }), "three"],
      worker: [Scripted.call("edit", { filePath: "b.ts" }), "b is done"],
      summary: [{ text: "First", delay: { first: 5_000 } }, { text: "Second", delay: { first: 5_000 } }]
    })
    return use(
      script,
      Effect.gen(function*() {
        const session = yield* Session
        const { id } = yield* root()
        // The answer does not wait for it.
        yield* session.prompt(id, "Change a")
        expect(yield* summaryOf(id)).toBeUndefined()
        const waiting = yield* Effect.fork(session.summarized(id))
        yield* TestClock.adjust(5_000)
        yield* Fiber.join(waiting)
        expect((yield* summaryOf(id))?.text).toBe("First")
        yield* session.prompt(id, "What is there?")
        yield* session.summarized(id)
        expect(summaries(script)).toHaveLength(1)
        yield* session.prompt(id, "Change b")
        yield* TestClock.adjust(5_000)
        expect(yield* summaryOf(id)).toMatchObject({ text: "Second", files: ["src/a.ts", "b.ts"] })
        // One for the root, none for the child.
        expect(summaries(script).map(({ origin }) => origin.sessionID)).toEqual([id, id])
      }),
      config
    )
  })

  it.effect("is started again by the next turn, and the previous request is cancelled", () => {
    const script = Scripted.make({ build: [changing, "one", changing, "two"], summary: [{ hangs: true }, "Second"] })
    return use(
      script,
      Effect.gen(function*() {
        const { id, session } = yield* prompted
        yield* TestClock.adjust(10)
        expect(script.open.now).toBe(1)
        yield* session.prompt(id, "On")
        yield* session.summarized(id)
        expect((yield* summaryOf(id))?.text).toBe("Second")
        expect(script.open.now).toBe(0)
      }),
      config
    )
  })

  it.effect("that fails changes nothing, and blocks nobody", () => {
    const script = Scripted.make({ build: [changing, "one"], summary: [Scripted.fault("overloaded")] })
    return use(
      script,
      Effect.gen(function*() {
        const session = yield* Session
        const { id } = yield* root()
        expect((yield* session.prompt(id, "Go")).text).toBe("one")
        yield* session.summarized(id)
        expect(yield* summaryOf(id)).toBeUndefined()
        expect(summaries(script)).toHaveLength(1)
      }),
      config
    )
  })

  it.effect("is not made without that setting", () => {
    const script = Scripted.make({ build: [changing, "one"] })
    return use(
      script,
      Effect.gen(function*() {
        const { id, session } = yield* prompted
        yield* session.summarized(id)
        yield* TestClock.adjust("1 hour")
        expect(summaries(script)).toEqual([])
      })
    )
  })
})
