import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { childrenOf } from "./support/tree.ts"

const titled = (title: Scripted.Script, options: SkeinTest.SkeinTestOptions = {}) => {
  const script = Scripted.make({ build: [{ text: "ok", delay: { first: 1_000 } }, "again"], title })
  const program = Effect.gen(function*() {
    const session = yield* Session
    const events = yield* record()
    const { id } = yield* session.create({ directory: "/work" })
    const fiber = yield* Effect.fork(session.prompt(id, "  Where is the CLI entry?\nI looked."))
    yield* TestClock.adjust(0)
    const early = (yield* session.get(id)).title
    yield* TestClock.adjust(1_000)
    const turn = yield* Fiber.poll(fiber)
    yield* TestClock.adjust("1 hour")
    const title = (yield* session.get(id)).title
    yield* session.prompt(id, "And more")
    const titles = script.requests.filter((request) => request.origin.purpose === "title")
    return { early, title, turn: turn._tag, titles, events, later: (yield* session.get(id)).title }
  })
  return Effect.provide(Effect.scoped(program), SkeinTest.layer(script, { titles: true, ...options }))
}

describe("the title of a session", () => {
  it.effect("costs a program no request unless it wants titles", () =>
    Effect.gen(function*() {
      const { title, titles } = yield* titled(["never asked"], { titles: false })
      expect([title, titles]).toEqual(["Where is the CLI entry?", []])
    }))

  it.effect("is the first line of the first prompt until a model has written one, once", () =>
    Effect.gen(function*() {
      const { early, later, title, titles } = yield* titled([{ text: "\"CLI entry point\"\n", delay: { first: 10 } }])
      expect(early).toBe("Where is the CLI entry?")
      expect(title).toBe("CLI entry point")
      expect(later).toBe("CLI entry point")
      expect(titles).toHaveLength(1)
      expect(titles[0]).toMatchObject({ tools: [], origin: { path: ["title"] } })
    }))

  it.effect("is waited for by a program that ends, once a model is asked for it", () => {
    const script = Scripted.make({ build: ["ok"], title: [{ text: "CLI entry point", delay: { first: 60_000 } }] })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* session.create({ directory: "/work" })
      yield* session.prompt(id, "Where is the CLI entry?")
      const waiting = yield* Effect.fork(session.summarized(id))
      yield* TestClock.adjust("59 seconds")
      expect((yield* Fiber.poll(waiting))._tag).toBe("None")
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(waiting)
      expect((yield* session.get(id)).title).toBe("CLI entry point")
    }).pipe(Effect.provide(SkeinTest.layer(script, { titles: true })))
  })

  it.effect("does not delay a turn", () =>
    Effect.gen(function*() {
      const { title, turn } = yield* titled([{ text: "Late", delay: { first: 60_000 } }])
      expect(turn).toBe("Some")
      expect(title).toBe("Late")
    }))

  const bad: Readonly<Record<string, Scripted.Script>> = {
    "an error": [Scripted.fault("auth")],
    silence: [{ hangs: true }],
    nothing: [{ text: "" }],
    blanks: [{ text: " \"\" " }],
    "a bug": () => Effect.die(new Error("bug"))
  }
  for (const [name, script] of Object.entries(bad)) {
    it.effect(`stays unchanged, and the turn continues, if the model returns ${name}`, () =>
      Effect.gen(function*() {
        const { later, title, turn } = yield* titled(script)
        expect(turn).toBe("Some")
        expect(title).toBe("Where is the CLI entry?")
        expect(later).toBe(title)
      }))
  }

  it.effect("is short, whatever the model says", () =>
    Effect.gen(function*() {
      expect((yield* titled([{ text: "word ".repeat(100) }])).title.length).toBeLessThanOrEqual(80)
    }))

  it.effect("comes from the small model if there is one", () =>
    Effect.gen(function*() {
      const { title } = yield* titled(["Never asked"], { config: { small_model: "no/such" } })
      expect(title).toBe("Where is the CLI entry?")
    }))

  it.effect("set by the creator stays", () => {
    const script = Scripted.make({ build: ["ok"] })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* session.create({ directory: "/work", title: "Mine" })
      yield* session.prompt(id, "Go")
      yield* TestClock.adjust("1 hour")
      expect((yield* session.get(id)).title).toBe("Mine")
      expect(script.requests).toHaveLength(1)
      yield* session.rename(id, "Yours")
      expect((yield* session.get(id)).title).toBe("Yours")
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })

  it.effect("of a child is its description and its agent", () => {
    const script = Scripted.make({ build: [Scripted.tasks({ explore: "p" }), "ok"], explore: ["found"] })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* session.create({ directory: "/work", title: "Mine" })
      yield* session.prompt(id, "Go")
      expect((yield* childrenOf(id)).map((child) => child.title)).toEqual(["explore task (@explore subagent)"])
      expect(script.requests.every((request) => request.origin.purpose === "turn")).toBe(true)
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })
})
