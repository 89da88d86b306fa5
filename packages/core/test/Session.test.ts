import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import { Tasks } from "@skein/core/Tasks"
import type { SessionID } from "@skein/domain/Id"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { childrenOf, expectStill, root, treeOf } from "./support/tree.ts"

const agents = [SkeinTest.agent("worker")]
const provide = (scripts: SkeinTest.Scripts = { "*": ["ok"] }) => Effect.provide(SkeinTest.layer(scripts, { agents }))

describe("a session", () => {
  it.effect("starts with the given options, and without usage", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(1_000)
      const events = yield* record()
      const info = yield* Session.create({ directory: "/a", agent: "plan", projectID: "p", title: "T" })
      expect(info).toEqual({
        id: expect.stringMatching(/^ses_/),
        rootID: info.id,
        depth: 0,
        projectID: "p",
        directory: "/a",
        title: "T",
        agent: "plan",
        permission: [],
        usage: {
          own: expect.objectContaining({ cost: "0", steps: 0 }),
          subtree: expect.objectContaining({ cost: "0" })
        },
        version: 1,
        time: { created: 1_000, updated: 1_000 }
      })
      expect(events.of("session.created").map((event) => event.properties.info)).toEqual([info])
      const usual = yield* Session.create({ directory: "/b" })
      expect(usual).toMatchObject({ agent: "build", projectID: "/b", title: "New session" })
      expect((yield* Effect.flip(Session.create({ directory: "/", agent: "nobody" })))._tag).toBe("AgentNotFound")
    }).pipe(Effect.scoped, provide()))

  it.effect("reports when a prompt is durable, and stores the receipt with it", () =>
    Effect.gen(function*() {
      const storage = yield* SessionStorage
      const { id } = yield* root()
      const stored: Array<string> = []
      const prompted = yield* Session.prompt(id, "Go", {
        receipt: { key: "k", digest: "d" },
        onStored: (messageID) => void stored.push(messageID)
      })
      expect(stored).toEqual([prompted.info.parentID])
      expect(Option.getOrThrow(yield* storage.receipt("k"))).toMatchObject({
        key: "k",
        digest: "d",
        sessionID: id,
        result: stored[0]
      })
      expect((yield* Session.prompt(id, "Again")).text).toBe("ok")
      const refused = Session.prompt(id, "  ", {
        receipt: { key: "e", digest: "d" },
        onStored: () => void stored.push("")
      })
      expect((yield* Effect.flip(refused))._tag).toBe("PromptInvalid")
      expect(yield* storage.receipt("e")).toEqual(Option.none())
      expect(stored).toHaveLength(1)
    }).pipe(provide()))

  it.effect("is listed among the roots of its project, latest change first", () =>
    Effect.gen(function*() {
      const session = yield* Session
      const made = []
      for (const projectID of ["p", "p", "q"]) {
        made.push(yield* root({ projectID }))
        yield* TestClock.adjust(10)
      }
      yield* session.prompt(made[0]!.id, "Go")
      const ids = (found: { readonly rows: ReadonlyArray<{ readonly id: SessionID }> }) =>
        found.rows.map((row) => row.id)
      expect(ids(yield* session.list())).toEqual([made[0]!.id, made[2]!.id, made[1]!.id])
      expect(ids(yield* session.list({ projectID: "p" }))).toEqual([made[0]!.id, made[1]!.id])
      expect(ids(yield* session.list({ limit: 1 }))).toEqual([made[0]!.id])
    }).pipe(provide()))

  it.effect("counts its usage exactly", () => {
    const script = Scripted.make({
      build: [{ text: "a", tokens: { input: 1_000, output: 3, reasoning: 2, cacheRead: 600 } }, {
        text: "b",
        tokens: { input: 7 }
      }]
    })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      const first = yield* session.prompt(id, "Go")
      const second = yield* session.prompt(id, "On")
      expect(first.usage).toMatchObject({
        cost: "0.001006",
        tokens: { input: 1_000, output: 3, reasoning: 2, cacheRead: 600 }
      })
      expect(second.usage).toMatchObject({ cost: "0.000017", steps: 1 })
      expect((yield* session.get(id)).usage.own).toMatchObject({ cost: "0.001023", steps: 2 })
    }).pipe(provide(script))
  })

  it.effect("reports a cost as unknown rather than 0", () => {
    const script = Scripted.make({ build: ["a"] }, { modelID: "free", price: { input: "unknown", output: "1" } })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      expect((yield* session.prompt(id, "Go")).usage.cost).toBe("unknown")
      expect((yield* session.get(id)).usage.subtree.cost).toBe("unknown")
    }).pipe(provide(script))
  })

  it.effect("that does not exist is refused by everything, with its id", () =>
    Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      yield* session.remove(id)
      const refusals = yield* Effect.all([
        Effect.flip(session.get(id)),
        Effect.flip(session.messages(id)),
        Effect.flip(session.prompt(id, "Go")),
        Effect.flip(session.append(id, "Go")),
        Effect.flip(session.rename(id, "x")),
        Effect.flip(session.remove(id)),
        Effect.flip(session.createChild(id, { agent: "worker", title: "t", permission: [] }))
      ])
      for (const error of refusals) expect(error).toMatchObject({ _tag: "SessionNotFound", id })
      expect(yield* session.status(id)).toEqual({ type: "idle" })
    }).pipe(provide()))
})

describe("the removal of a session", () => {
  it.effect("is no takeover: late commits find no session, and nothing is logged", () => {
    const script = Scripted.make({ build: [{ text: "so far", hangs: true }] })
    const gate = Effect.unsafeMakeLatch(true)
    const warnings: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => {
      if (LogLevel.greaterThanEqual(logLevel, LogLevel.Warning)) warnings.push(String(message))
    })
    const isDeletion = (writes: ReadonlyArray<Write>) => writes.some(({ _tag }) => _tag === "DeleteSession")
    const storage = Layer.map(SessionStorage.layerMemory, (context) => {
      const inner = Context.get(context, SessionStorage)
      return Context.make(SessionStorage, {
        ...inner,
        commit: (writes, onStored) =>
          Effect.zipRight(isDeletion(writes) ? Effect.void : gate.await, inner.commit(writes, onStored))
      })
    })
    return Effect.gen(function*() {
      const session = yield* Session
      const [idle, busy] = [yield* root(), yield* root()]
      const working = yield* Effect.fork(session.prompt(busy.id, "Go"))
      yield* TestClock.adjust(100)
      yield* gate.close
      const late = yield* Effect.fork(Effect.flip(session.prompt(idle.id, "Go")))
      const ending = yield* Effect.fork(Fiber.interrupt(working))
      yield* TestClock.adjust(1)
      const removing = yield* Effect.fork(
        Effect.all([session.remove(idle.id), session.remove(busy.id)], { concurrency: "unbounded" })
      )
      yield* TestClock.adjust("10 seconds")
      yield* gate.open
      yield* Fiber.join(removing)
      yield* Fiber.join(ending)
      expect(yield* Fiber.join(late)).toMatchObject({ _tag: "SessionNotFound", id: idle.id })
      expect(warnings).toEqual([])
      expect(yield* treeOf(busy.id)).toEqual([])
    }).pipe(
      Effect.provide(SkeinTest.layer(script, { agents, storage })),
      Effect.provide(Logger.replace(Logger.defaultLogger, logger))
    )
  })

  it.effect("deletes everything below it, and publishes that", () =>
    Effect.gen(function*() {
      const session = yield* Session
      const events = yield* record()
      const { id } = yield* root()
      yield* session.prompt(id, "Go")
      expect(yield* treeOf(id)).toHaveLength(2)
      yield* session.remove(id)
      expect(yield* treeOf(id)).toEqual([])
      expect(events.of("session.deleted").map((event) => event.properties.info.id)).toEqual([id])
      expect((yield* Effect.flatMap(SessionStorage, (storage) => storage.runs({ rootID: id }))).rows).toEqual([])
    }).pipe(Effect.scoped, provide({ build: [Scripted.tasks({ worker: "p" }), "ok"], worker: ["ok"] })))

  it.effect("first stops what runs in it", () => {
    const script = Scripted.make({
      build: [Scripted.tasks({ worker: "p" })],
      worker: [{ text: "so far", hangs: true }]
    })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      const fiber = yield* Effect.fork(session.prompt(id, "Go"))
      yield* TestClock.adjust(100)
      yield* session.remove(id)
      expect((yield* Effect.flip(Fiber.join(fiber)))._tag).toBe("SessionStopped")
      expect(script.open.now).toBe(0)
      expect(yield* treeOf(id)).toEqual([])
    }).pipe(provide(script))
  })

  it.effect("of a working child lets its parent continue, and reports what happened", () => {
    const script = Scripted.make({
      build: [Scripted.tasks({ worker: "p" }), "ok"],
      worker: [{ text: "so far", hangs: true }]
    })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      const fiber = yield* Effect.fork(session.prompt(id, "Go"))
      yield* TestClock.adjust(100)
      const [child] = yield* childrenOf(id)
      yield* session.remove(child!.id)
      yield* TestClock.adjust("1 minute")
      expect((yield* Fiber.join(fiber)).text).toBe("ok")
      expect(yield* childrenOf(id)).toEqual([])
      yield* expectStill(id, script)
    }).pipe(provide(script))
  })

  it.effect("does not subtract its usage", () =>
    Effect.gen(function*() {
      const session = yield* Session
      const tasks = yield* Tasks
      const { id } = yield* root()
      const { taskID } = yield* tasks.run({
        parentID: id,
        agent: "worker",
        description: "d",
        prompt: "p",
        byUser: true
      })
      yield* session.remove(taskID)
      expect((yield* session.get(id)).usage).toMatchObject({
        own: { steps: 0 },
        subtree: { steps: 1, cost: "0.00002" }
      })
    }).pipe(provide()))
})
