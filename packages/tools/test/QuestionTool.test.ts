import { describe, expect, it } from "@effect/vitest"
import { Question } from "@skein/core/Question"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { StorageError } from "@skein/core/StorageError"
import { Tools } from "@skein/core/Tool"
import { record, type RecordedEvents } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import { makeQuestion } from "@skein/tools/QuestionTool"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"

const asking = { question: "Which one?", options: [{ label: "red" }, { label: "blue", description: "like the sky" }] }

/** A model that makes these calls, and then says what it was told of them. */
const first = (calls: Scripted.ScriptedStep): Scripted.Script => (request) =>
  request.messages.at(-1)?.role === "tool" ? `told: ${JSON.stringify(request.messages.at(-1)?.content)}` : calls

const script = () =>
  Scripted.make({
    build: first(Scripted.call("question", asking)),
    lead: first(Scripted.tasks({ worker: "w" })),
    worker: first(Scripted.call("question", { question: "Free?", multiple: true }))
  })

const stack = (
  asks: "person" | "nobody" | "auto" = "person",
  scripted = script(),
  storage = SessionStorage.layerMemory
) =>
  Layer.scopedDiscard(
    Effect.flatMap(Tools, (tools) => Effect.flatMap(makeQuestion, tools.register))
  ).pipe(
    Layer.provideMerge(SkeinTest.layer(scripted, {
      asks,
      storage,
      agents: [SkeinTest.agent("lead", { mode: "primary" }), SkeinTest.agent("worker")]
    }))
  )

const begin = (agent: string, heard: RecordedEvents) =>
  Effect.gen(function*() {
    const { id } = yield* Session.create({ directory: "/work", agent, title: "Test" })
    const turn = yield* Effect.fork(Session.prompt(id, "Go"))
    const { properties } = yield* heard.first("question.asked")
    return { id, turn, asked: properties }
  })

describe("question", () => {
  it.scoped("asks the person, waits, and tells the model the answer", () =>
    Effect.gen(function*() {
      const heard = yield* record()
      const questions = yield* Question
      const { asked, id, turn } = yield* begin("build", heard)
      expect(asked).toEqual({
        ...asking,
        title: "Test",
        directory: "/work",
        since: 0,
        id: asked.id,
        sessionID: id,
        rootID: id,
        path: ["build"],
        multiple: false
      })
      expect(yield* questions.pending(id)).toEqual([asked])
      yield* questions.reply(asked.id, ["blue"])
      expect((yield* Fiber.join(turn)).text).toContain("The user answers: blue")
      expect(heard.of("question.replied").map(({ properties }) => properties)).toEqual([
        { id: asked.id, reply: "answered", answers: ["blue"] }
      ])
      expect(yield* questions.pending()).toEqual([])
      expect(yield* Effect.flip(questions.reply(asked.id, ["red"]))).toMatchObject({ _tag: "QuestionNotFound" })
    }).pipe(Effect.provide(stack())))

  it.scoped("of a subagent reaches the root, and the clocks of its task stand still meanwhile", () =>
    Effect.gen(function*() {
      const heard = yield* record()
      const questions = yield* Question
      const { asked, id, turn } = yield* begin("lead", heard)
      expect(asked).toMatchObject({ rootID: id, path: ["lead", "worker"], options: [], multiple: false })
      // Half an hour is the most that a task may take, and ten minutes that it may be silent.
      yield* TestClock.adjust("23 hours")
      yield* questions.reply(asked.id, ["in my own words"])
      expect((yield* Fiber.join(turn)).text).toContain("in my own words")
    }).pipe(Effect.provide(stack())))

  it.scoped("that is dismissed, or that nobody answers within a day, is told to the model as such", () =>
    Effect.gen(function*() {
      const heard = yield* record()
      const first = yield* begin("build", heard)
      yield* Effect.flatMap(Question, (questions) => questions.dismiss(first.asked.id))
      expect((yield* Fiber.join(first.turn)).text).toContain("The user does not want to answer this. Decide yourself")
      const { id } = yield* Session.create({ directory: "/work", agent: "lead", title: "Test" })
      const turn = yield* Effect.fork(Session.prompt(id, "Go"))
      const { properties } = yield* heard.first("question.asked", ({ rootID }) => rootID === id)
      yield* TestClock.adjust("24 hours")
      expect((yield* Fiber.join(turn)).text).toContain("Nobody answered within 24 hours.")
      expect(heard.of("question.replied").map((event) => event.properties)).toEqual([
        { id: first.asked.id, reply: "dismissed", answers: [] },
        { id: properties.id, reply: "withdrawn", answers: [] }
      ])
    }).pipe(Effect.provide(stack())))

  it.scoped("waits on where its answer cannot be stored, and can be answered again", () => {
    let fails = false
    const full = new StorageError({ operation: "commit", reason: "full", message: "The disk is full." })
    const storage = Layer.map(SessionStorage.layerMemory, (context) => {
      const inner = Context.get(context, SessionStorage)
      const commit: typeof inner.commit = (writes) => fails ? Effect.fail(full) : inner.commit(writes)
      return Context.make(SessionStorage, { ...inner, commit })
    })
    return Effect.gen(function*() {
      const heard = yield* record()
      const questions = yield* Question
      const { asked, turn } = yield* begin("build", heard)
      fails = true
      expect(yield* Effect.flip(questions.reply(asked.id, ["red"]))).toBe(full)
      expect(yield* Effect.flip(questions.dismiss(asked.id))).toBe(full)
      fails = false
      expect(yield* questions.pending()).toEqual([asked])
      yield* questions.reply(asked.id, ["blue"])
      expect((yield* Fiber.join(turn)).text).toContain("The user answers: blue")
      expect(yield* questions.pending()).toEqual([])
    }).pipe(Effect.provide(stack("person", script(), storage)))
  })

  it.scoped("is withdrawn where its session is stopped while it is being stored", () =>
    Effect.gen(function*() {
      const stored = yield* Deferred.make<void>()
      const storage = Layer.map(SessionStorage.layerMemory, (context) => {
        const inner = Context.get(context, SessionStorage)
        const commit: typeof inner.commit = (writes) =>
          JSON.stringify(writes).includes("\"question.asked\"")
            ? Effect.zipLeft(inner.commit(writes), Deferred.succeed(stored, undefined)).pipe(
              Effect.zipLeft(Effect.repeatN(Effect.yieldNow(), 50))
            )
            : inner.commit(writes)
        return Context.make(SessionStorage, { ...inner, commit })
      })
      yield* Effect.gen(function*() {
        const heard = yield* record()
        const { id } = yield* Session.create({ directory: "/work", agent: "build", title: "Test" })
        const turn = yield* Effect.fork(Session.prompt(id, "Go"))
        yield* Deferred.await(stored)
        yield* Effect.flatMap(Session, (session) => session.stop(id))
        yield* Fiber.await(turn)
        expect(heard.of("question.replied").map(({ properties }) => properties.reply)).toEqual(["withdrawn"])
      }).pipe(Effect.provide(stack("person", script(), storage)))
    }))

  it.scoped("is withdrawn where its session is stopped", () =>
    Effect.gen(function*() {
      const heard = yield* record()
      const { asked, id, turn } = yield* begin("lead", heard)
      yield* Effect.flatMap(Session, (session) => session.stop(id))
      yield* Fiber.await(turn)
      expect(heard.of("question.replied").map(({ properties }) => properties)).toEqual([
        { id: asked.id, reply: "withdrawn", answers: [] }
      ])
      expect(yield* Effect.flatMap(Question, (questions) => questions.pending())).toEqual([])
    }).pipe(Effect.provide(stack())))

  it.scoped("that is longer than anybody reads is refused", () =>
    Effect.gen(function*() {
      const { id } = yield* Session.create({ directory: "/work", agent: "build", title: "Test" })
      expect((yield* Session.prompt(id, "Go")).text).toContain("too long for a person")
    }).pipe(Effect.provide(
      stack("person", Scripted.make({ build: first(Scripted.call("question", { question: "x".repeat(9_000) })) }))
    )))

  for (const [asks, mode] of [["nobody", "ask"], ["auto", "ask"], ["person", "auto"]] as const) {
    it.scoped(`is not offered where questions are met by ${asks} and the mode is ${mode}`, () => {
      const scripted = script()
      return Effect.gen(function*() {
        const heard = yield* record()
        const { id } = yield* Session.create({ directory: "/work", agent: "build", title: "Test", mode })
        const turn = yield* Session.prompt(id, "Go")
        expect(turn.text).toContain("There is no tool")
        expect(scripted.requests[0]?.tools.map(({ name }) => name)).not.toContain("question")
        expect(heard.of("question.asked")).toEqual([])
        const questions = yield* Question
        expect(yield* questions.pending()).toEqual([])
        expect(yield* Effect.flip(questions.dismiss("prt_0" as never))).toMatchObject({ _tag: "QuestionNotFound" })
      }).pipe(Effect.provide(stack(asks, scripted)))
    })
  }
})
