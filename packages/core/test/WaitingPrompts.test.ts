/** Proves that prompts to an agent at work are read, queued for after the turn, withdrawn or kept. */
import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { snapshotOf } from "@skein/core/SessionLookup"
import { SessionStorage } from "@skein/core/SessionStorage"
import { MessageID, type SessionID } from "@skein/domain/Id"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { asked } from "./support/said.ts"
import { root } from "./support/tree.ts"

const slow = SkeinTest.tool("slow", () => Effect.as(Effect.sleep(1_000), "slept"))

/** A model that first calls a slow tool, and then answers each prompt. */
const answering = () =>
  Scripted.make({
    build: (request) =>
      request.messages.every(({ role }) => role !== "tool")
        ? Scripted.call("slow", {})
        : `to ${asked(request).at(-1)}`
  })

const provide = (script: Scripted.Scripted) => Effect.provide(SkeinTest.layer(script, { tools: [slow] }))

/** Prompts a session at work; gives the id of the message once it is stored. */
const wait = (id: SessionID, text: string, after?: "turn") =>
  Effect.gen(function*() {
    let stored: string | undefined
    const answer = yield* Effect.fork(Session.prompt(id, text, {
      onStored: (message) => stored = message,
      ...(after === undefined ? {} : { after })
    }))
    yield* TestClock.adjust(10)
    if (stored === undefined) return yield* Effect.dieMessage(`"${text}" is not stored`)
    return { answer, messageID: MessageID.make(stored) }
  })

describe("a prompt for after the turn", () => {
  it.effect("begins a turn of its own, and lets a later one be read at the next step", () => {
    const script = answering()
    return Effect.gen(function*() {
      const { id } = yield* root()
      const events = yield* record()
      const one = yield* Effect.fork(Session.prompt(id, "one"))
      yield* TestClock.adjust(10)
      const queued = yield* wait(id, "queued", "turn")
      const again = yield* wait(id, "again", "turn")
      const steer = yield* wait(id, "steer")
      expect((yield* snapshotOf(id)).waiting).toEqual([
        { id: queued.messageID, text: "queued", after: "turn" },
        { id: again.messageID, text: "again", after: "turn" },
        { id: steer.messageID, text: "steer" }
      ])
      yield* TestClock.adjust("1 minute")
      expect((yield* one).text).toBe("to steer")
      expect((yield* steer.answer).text).toBe("to steer")
      expect((yield* queued.answer).text).toBe("to queued")
      expect((yield* again.answer).text).toBe("to again")
      expect(script.requests.map((request) => asked(request))).toEqual([
        ["one"],
        ["one", "steer"],
        ["one", "steer", "queued"],
        ["one", "steer", "queued", "again"]
      ])
      expect(events.of("inbox.updated").map(({ properties }) => properties.waiting.map(({ text }) => text))).toEqual([
        ["queued"],
        ["queued", "again"],
        ["queued", "again", "steer"],
        ["queued", "again"],
        ["again"],
        []
      ])
      expect((yield* snapshotOf(id)).waiting).toEqual([])
    }).pipe(Effect.scoped, provide(script))
  })

  it.effect("starts nothing after a stop, is kept, and follows the next prompt", () => {
    const script = answering()
    return Effect.gen(function*() {
      const session = yield* Session
      const storage = yield* SessionStorage
      const { id } = yield* root()
      yield* Effect.fork(session.prompt(id, "one"))
      yield* TestClock.adjust(10)
      const queued = yield* wait(id, "queued", "turn")
      yield* session.stop(id)
      expect(yield* storage.unfinished).toEqual([])
      yield* session.resume(id)
      yield* TestClock.adjust("1 minute")
      expect(script.requests).toHaveLength(1)
      expect((yield* snapshotOf(id)).waiting).toMatchObject([{ id: queued.messageID }])
      yield* session.prompt(id, "next")
      yield* session.untilIdle(id)
      expect(script.requests.slice(1).map((request) => asked(request).at(-1))).toEqual(["next", "queued"])
    }).pipe(provide(script))
  })
})

describe("a prompt for after the turn whose sender is gone", () => {
  it.effect("is read with the next one, and starts no turn of its own", () => {
    const script = answering()
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      const one = yield* Effect.fork(session.prompt(id, "one"))
      yield* TestClock.adjust(10)
      const { answer } = yield* wait(id, "queued", "turn")
      yield* Fiber.interruptAll([answer, one])
      const next = yield* Effect.fork(session.prompt(id, "next"))
      yield* TestClock.adjust("1 minute")
      yield* next
      yield* session.untilIdle(id)
      expect(script.requests.slice(1).map((request) => asked(request))).toEqual([["one", "queued|next"]])
    }).pipe(provide(script))
  })
})

describe("a prompt that is withdrawn", () => {
  it.effect("gives its text back, is not read, and says so to its caller and to all who watch", () => {
    const script = answering()
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      const events = yield* record()
      const one = yield* Effect.fork(session.prompt(id, "one"))
      yield* TestClock.adjust(10)
      const steer = yield* wait(id, "steer")
      const queued = yield* wait(id, "queued", "turn")
      expect(yield* session.withdraw(id, steer.messageID)).toEqual({ status: "withdrawn", text: "steer" })
      expect(yield* Effect.flip(steer.answer)).toMatchObject({
        _tag: "SessionStopped",
        message: `The prompt ${steer.messageID} was withdrawn before an agent read it.`
      })
      expect(yield* session.withdraw(id, steer.messageID)).toEqual({ status: "gone" })
      expect(yield* session.withdraw(id, queued.messageID)).toEqual({ status: "withdrawn", text: "queued" })
      yield* TestClock.adjust("1 minute")
      expect((yield* one).text).toBe("to one")
      expect(script.requests.map((request) => asked(request))).toEqual([["one"], ["one"]])
      expect(events.of("inbox.updated").at(-1)?.properties.waiting).toEqual([])
      const storage = yield* SessionStorage
      expect((yield* storage.inbox(id)).rows).toEqual([])
    }).pipe(Effect.scoped, provide(script))
  })

  it.effect("is gone where an agent has it", () => {
    const script = answering()
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      yield* Effect.fork(session.prompt(id, "one"))
      yield* TestClock.adjust(10)
      const steer = yield* wait(id, "steer")
      yield* TestClock.adjust("1 minute")
      expect((yield* steer.answer).text).toBe("to steer")
      expect(yield* session.withdraw(id, steer.messageID)).toEqual({ status: "gone" })
    }).pipe(provide(script))
  })
})
