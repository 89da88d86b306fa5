import { describe, expect, it } from "@effect/vitest"
import { on } from "@skein/core/Hooks"
import { Session } from "@skein/core/Session"
import type { SessionID } from "@skein/domain/Id"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { madeFor, readIn } from "./support/bounded.ts"
import { messagesOf, root } from "./support/tree.ts"

const use = <A, E>(
  script: Scripted.Scripted,
  program: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof SkeinTest.layer>> | Scope.Scope>,
  options: SkeinTest.SkeinTestOptions = {}
) => Effect.provide(Effect.scoped(program), SkeinTest.layer(script, options))

const long = (words: string) => `${words} ${"y".repeat(4_000)}`

/** Answers three prompts in a session. */
const talk = (id: SessionID) => Effect.forEach(["1", "2", "3"], (prompt) => Session.prompt(id, prompt))

/** A session with three answered prompts. */
const talked = Effect.gen(function*() {
  const session = yield* Session
  const { id } = yield* root()
  yield* talk(id)
  return { id, session }
})

describe("Session.compact", () => {
  it.effect("summarises an idle session, and publishes that", () => {
    const script = Scripted.make({ build: [...["one", "two", "three"].map(long), "well"], compaction: ["Short."] })
    return use(
      script,
      Effect.gen(function*() {
        const events = yield* record()
        const { id, session } = yield* talked
        const done = yield* session.compact(id)
        expect(done).toMatchObject({ auto: false, messageID: (yield* messagesOf(id)).at(-1)?.info.id })
        expect(done.tokens.after).toBeLessThan(done.tokens.before)
        expect(events.of("session.compacted").map(({ properties }) => properties)).toEqual([done])
        expect((yield* session.status(id)).type).toBe("idle")
        expect((yield* session.prompt(id, "4")).text).toBe("well")
        const last = script.requests.at(-1)
        const text = last === undefined ? "" : readIn(last)
        expect(text).toMatch(/Short\..*three yyy.*"4"/)
        expect(text).not.toContain("one yyy")
      })
    )
  })

  it.effect("runs hooks before it, which may take time and cannot prevent it", () => {
    const calls: Array<string> = []
    const hook = on(
      "PreCompact",
      ({ path, trigger }) =>
        Effect.zipRight(Effect.sync(() => void calls.push(`${trigger} ${path.join("/")}`)), Effect.fail("broken"))
    )
    return use(
      Scripted.make({ build: ["one", "two", "three"].map(long), compaction: ["Short."] }),
      Effect.gen(function*() {
        const { id, session } = yield* talked
        expect(calls).toEqual([])
        yield* session.compact(id)
        expect(calls).toEqual(["manual build"])
      }),
      { hooks: [hook] }
    )
  })

  it.effect("works if automatic compaction is off, and does not use the small model", () => {
    const script = Scripted.make({ build: ["one", "two", "three"].map(long) })
    return use(
      script,
      Effect.gen(function*() {
        const { id } = yield* talked
        expect((yield* Effect.flatMap(Session, (session) => session.compact(id))).auto).toBe(false)
      }),
      { config: { compaction: { auto: false }, small_model: "no/such" } }
    )
  })

  it.effect("says why it does nothing", () => {
    const script = Scripted.make({
      build: [{ text: "slow", delay: { first: 1_000 } }, ...["one", "two", "three"].map(long)],
      compaction: [Scripted.fault("auth", { message: "No key." })]
    })
    return use(
      script,
      Effect.gen(function*() {
        const session = yield* Session
        const { id } = yield* root()
        const failure = Effect.flip(session.compact(id))
        expect(yield* failure).toMatchObject({ _tag: "CompactionFailed", reason: "nothing_to_do" })
        const talking = yield* Effect.fork(session.prompt(id, "0"))
        yield* TestClock.adjust(10)
        expect(yield* failure).toMatchObject({
          reason: "at_work",
          message: expect.stringContaining("Try again when it is idle.")
        })
        yield* TestClock.adjust(1_000)
        yield* Fiber.join(talking)
        yield* talk(id)
        expect(yield* failure).toMatchObject({ reason: "model", message: expect.stringContaining("No key.") })
        expect((yield* Effect.flip(session.compact("ses_none" as SessionID)))._tag).toBe("SessionNotFound")
        expect(JSON.stringify(yield* messagesOf(id))).not.toContain("\"compaction\"")
      })
    )
  })

  it.effect("does nothing if the summary would not be shorter", () => {
    const script = Scripted.make({ build: ["one", "two", "three"], compaction: ["z".repeat(5_000)] })
    return use(
      script,
      Effect.gen(function*() {
        const { id } = yield* talked
        const before = yield* messagesOf(id)
        const error = yield* Effect.flip(Effect.flatMap(Session, (session) => session.compact(id)))
        expect(error).toMatchObject({ reason: "nothing_to_do", message: expect.stringContaining("no shorter") })
        expect(yield* messagesOf(id)).toEqual(before)
      })
    )
  })

  it.effect("closes its request if it is interrupted, or the session is stopped", () => {
    const script = Scripted.make({ build: ["one", "two", "three"].map(long), compaction: [{ hangs: true }] })
    return use(
      script,
      Effect.gen(function*() {
        const { id, session } = yield* talked
        const first = yield* Effect.fork(session.compact(id))
        yield* TestClock.adjust(10)
        expect(script.open.now).toBe(1)
        expect([Exit.isInterrupted(yield* Fiber.interrupt(first)), script.open.now]).toEqual([true, 0])
        const second = yield* Effect.fork(Effect.flip(session.compact(id)))
        yield* TestClock.adjust(10)
        yield* session.stop(id)
        expect([script.open.now, (yield* Fiber.join(second))._tag]).toEqual([0, "SessionStopped"])
      })
    )
  })

  it.effect("keeps messages that arrive meanwhile", () => {
    const script = Scripted.make({
      // The last answer is too long to stay next to the summary.
      build: [...["one", "two"].map(long), `three ${"y".repeat(20_000)}`, "four", "five"],
      compaction: [{ text: "Short.", delay: { first: 1_000 } }]
    })
    return use(
      script,
      Effect.gen(function*() {
        const { id, session } = yield* talked
        const compacting = yield* Effect.fork(session.compact(id))
        yield* TestClock.adjust(10)
        yield* session.prompt(id, "meanwhile")
        yield* TestClock.adjust(1_000)
        yield* Fiber.join(compacting)
        yield* session.prompt(id, "then")
        const last = madeFor(script, "turn").at(-1)
        expect(last === undefined ? "" : readIn(last)).toMatch(
          /Short\.(?!.*yyy).*"meanwhile".*"four".*"then"/
        )
      })
    )
  })
})
