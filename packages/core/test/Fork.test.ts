import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { Tasks } from "@skein/core/Tasks"
import { TodoList } from "@skein/core/TodoList"
import { MessageID, type SessionID } from "@skein/domain/Id"
import type { MessageWithParts } from "@skein/domain/Part"
import { none } from "@skein/domain/Usage"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { callsMade, childrenOf, messagesOf, resultOf, root, treeOf } from "./support/tree.ts"

const agents = [SkeinTest.agent("worker")]
const slow = SkeinTest.tool("slow", () => Effect.never)
const provide = (scripts: SkeinTest.Scripts = { "*": ["ok"] }) =>
  Effect.provide(SkeinTest.layer(scripts, { agents, tools: [slow] }))

const fork = (id: SessionID, messageID?: MessageID) =>
  Effect.flatMap(Session, (session) => session.fork(id, messageID === undefined ? {} : { messageID }))

const words = (messages: ReadonlyArray<MessageWithParts>) =>
  messages.map(({ info, parts }) =>
    `${info.role}: ${parts.flatMap((part) => part.type === "text" ? [part.text] : []).join(" ")}`
  )

const idsOf = (messages: ReadonlyArray<MessageWithParts>) =>
  messages.flatMap(({ info, parts }) => [info.id as string, ...parts.map((part) => part.id as string)])

describe("the fork of a session", () => {
  it.effect("is a root with the same conversation under new ids, and without usage", () =>
    Effect.gen(function*() {
      const session = yield* Session
      const events = yield* record()
      const permission = [{ permission: "edit", pattern: "*", action: "deny" }] as const
      const model = { providerID: "scripted", modelID: "model" }
      const { id } = yield* root({ permission, agent: "plan", projectID: "p", budget: { tokens: 90_000 }, model })
      yield* session.prompt(id, "one")
      yield* session.prompt(id, "two")
      yield* TestClock.adjust(1_000)
      const before = yield* messagesOf(id)
      const copy = yield* fork(id)
      const original = yield* session.get(id)
      expect(original.usage.own.steps).toBe(2)
      expect(original.budget?.spent.steps).toBe(2)
      const { turn, ...kept } = original
      expect(turn?.ended?.how).toBe("completed")
      expect(copy).toEqual({
        ...kept,
        id: copy.id,
        rootID: copy.id,
        cachedAs: id,
        title: "Test (fork)",
        usage: { own: none, subtree: none },
        budget: {
          limit: { tokens: 90_000 },
          since: 1_000,
          spent: { tokens: 0, usd: "0", steps: 0, time: 0, tasks: 0 }
        },
        time: { created: 1_000, updated: 1_000 }
      })
      expect(copy.id).not.toBe(id)
      const copied = yield* messagesOf(copy.id)
      expect(words(copied)).toEqual(words(before))
      const ids = new Set(idsOf(before))
      expect(idsOf(copied).filter((each) => ids.has(each))).toEqual([])
      for (const { info, parts } of copied) {
        expect(info.sessionID).toBe(copy.id)
        for (const part of parts) expect(part).toMatchObject({ sessionID: copy.id, messageID: info.id })
      }
      const parents = copied.flatMap(({ info }) => info.role === "assistant" ? [info.parentID] : [])
      expect(parents).toEqual(copied.flatMap(({ info }) => info.role === "user" ? [info.id] : []))
      expect(events.of("session.created").at(-1)?.properties.info).toEqual(copy)
    }).pipe(Effect.scoped, provide()))

  it.effect("is independent of the original, and the reverse", () => {
    const script = Scripted.make({ build: ["a", "b"] })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      yield* session.prompt(id, "one")
      const copy = yield* fork(id)
      yield* session.prompt(copy.id, "left")
      yield* session.prompt(id, "right")
      expect(words(yield* messagesOf(copy.id))).toEqual([
        "user: one",
        "assistant: a",
        "user: left",
        "assistant: a"
      ])
      expect(words(yield* messagesOf(id))).toEqual([
        "user: one",
        "assistant: a",
        "user: right",
        "assistant: b"
      ])
      expect((yield* session.get(copy.id)).usage.own.steps).toBe(1)
      yield* session.remove(id)
      expect(words(yield* messagesOf(copy.id))).toHaveLength(4)
    }).pipe(provide(script))
  })

  it.effect("asks with the same prefix, ids of calls included, so that the provider's cache is read", () => {
    const script = Scripted.make({ build: [Scripted.call("echo", {}, {}), "a", "b", "c"] })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      yield* session.prompt(id, "one")
      const copy = yield* fork(id)
      yield* session.prompt(copy.id, "two")
      const again = yield* fork(copy.id)
      yield* session.prompt(again.id, "three")
      const lastOf = (one: SessionID) => script.requests.findLast(({ origin }) => origin.sessionID === one)
      for (const [before, after] of [[id, copy.id], [copy.id, again.id]] as const) {
        const prefix = lastOf(before)?.messages ?? []
        expect(prefix.length).toBeGreaterThan(2)
        expect(lastOf(after)?.messages.slice(0, prefix.length)).toEqual(prefix)
        expect(lastOf(after)?.origin.cachedAs).toBe(id)
      }
    }).pipe(
      Effect.provide(SkeinTest.layer(script, { agents, tools: [SkeinTest.tool("echo", () => Effect.succeed("e"))] }))
    )
  })

  it.effect("ends with the named message, and has the todos only if it is complete", () =>
    Effect.gen(function*() {
      const session = yield* Session
      const todos = yield* TodoList
      const { id } = yield* root()
      yield* session.prompt(id, "one")
      yield* session.prompt(id, "two")
      const planned = [{ content: "x", status: "pending", priority: "low" }] as const
      const storage = yield* SessionStorage
      yield* storage.commit([{ _tag: "Todos", sessionID: id, todos: planned }])
      const messages = yield* messagesOf(id)
      for (const [i, { info }] of messages.entries()) {
        const copy = yield* fork(id, info.id)
        expect(words(yield* messagesOf(copy.id))).toEqual(words(messages).slice(0, i + 1))
        expect(yield* todos.get(copy.id)).toEqual(i === messages.length - 1 ? planned : [])
        expect((yield* session.prompt(copy.id, "on")).text).toBe("ok")
      }
    }).pipe(provide()))

  it.effect("does not include the sessions of tasks, which only the original resumes", () =>
    Effect.gen(function*() {
      const session = yield* Session
      const tasks = yield* Tasks
      const { id } = yield* root()
      yield* session.prompt(id, "Go")
      const [child] = yield* childrenOf(id)
      const copy = yield* fork(id)
      expect(yield* treeOf(copy.id)).toEqual([copy])
      expect((yield* callsMade(copy.id)).map(resultOf)[0]).toContain("found it")
      expect((yield* Effect.flatMap(SessionStorage, (storage) => storage.runs({ rootID: copy.id }))).rows).toEqual([])
      const request = { agent: "worker", description: "d", prompt: "p", byUser: true, taskID: child!.id }
      const refused = yield* Effect.flip(tasks.run({ ...request, parentID: copy.id }))
      expect(refused).toMatchObject({ reason: "not_a_child" })
      expect(yield* tasks.run({ ...request, parentID: id })).toMatchObject({ status: "completed" })
    }).pipe(provide({ build: [Scripted.tasks({ worker: "p" }), "ok"], worker: ["found it", "again"] })))

  it.effect("of a task's session is its sibling, under the bounds of its caller", () =>
    Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      yield* session.prompt(id, "Go")
      const [child] = yield* childrenOf(id)
      const copy = yield* fork(child!.id)
      expect(copy).toMatchObject({ parentID: id, rootID: id, depth: 1, permission: child!.permission })
      expect(yield* childrenOf(id)).toHaveLength(2)
      expect((yield* session.prompt(copy.id, "more")).text).toBe("found it")
    }).pipe(provide({ build: [Scripted.tasks({ worker: "p" }), "ok"], worker: ["found it"] })))

  it.effect("is refused if the session does not have the message, or is working", () => {
    const script = Scripted.make({ build: ["ok", { calls: [{ tool: "slow" }] }], "*": ["other"] })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      const other = yield* root({ agent: "plan" })
      yield* session.prompt(id, "one")
      yield* session.prompt(other.id, "one")
      const [foreign] = yield* messagesOf(other.id)
      const known = yield* session.list()
      for (const messageID of [MessageID.make("msg_nowhere"), foreign!.info.id]) {
        expect(yield* Effect.flip(fork(id, messageID))).toMatchObject({
          _tag: "ForkRefused",
          reason: "unknown_message",
          message: expect.stringContaining(`${id} has no message ${messageID}`)
        })
      }
      const fiber = yield* Effect.fork(session.prompt(id, "two"))
      yield* TestClock.adjust(100)
      expect(yield* Effect.flip(fork(id))).toMatchObject({ reason: "at_work", message: expect.stringContaining(id) })
      expect((yield* session.list()).rows).toHaveLength(known.rows.length)
      yield* Fiber.interrupt(fiber)
      expect((yield* fork(id)).title).toBe("Test (fork)")
    }).pipe(provide(script))
  })

  it.effect("has an end for each call that a crash left open", () =>
    Effect.gen(function*() {
      const storage = yield* SessionStorage
      const kept = Layer.succeed(SessionStorage, storage)
      const id = yield* Effect.gen(function*() {
        const { id } = yield* root()
        yield* Session.prompt(id, "one")
        return id
      }).pipe(Effect.provide(SkeinTest.layer({ "*": ["ok"] }, { storage: kept })))
      const { rows: [, answer] } = yield* storage.messages(id)
      const { time: { created }, ...info } = answer!.info
      const call = { id: "prt_zz", sessionID: id, messageID: info.id, type: "tool", callID: "c", tool: "slow" }
      const state = { status: "running", input: {}, time: { start: 5 } }
      yield* storage.commit([
        { _tag: "Message", info: { ...info, time: { created } } as never },
        { _tag: "Part", part: { ...call, state } as never }
      ])
      const script = Scripted.make({ build: ["I see"] })
      yield* Effect.gen(function*() {
        const copy = yield* fork(id)
        expect((yield* callsMade(copy.id)).map(({ state: { status } }) => status)).toEqual(["error"])
        expect((yield* callsMade(copy.id)).map(resultOf)[0]).toMatch(/outcome is unknown/)
        expect((yield* messagesOf(copy.id))[1]?.info).toMatchObject({ error: { tag: "interrupted" } })
        expect((yield* callsMade(id)).map(({ state: { status } }) => status)).toEqual(["running"])
        expect((yield* Session.prompt(copy.id, "What now?")).text).toBe("I see")
      }).pipe(Effect.provide(SkeinTest.layer(script, { tools: [slow], storage: kept })))
    }).pipe(Effect.provide(SessionStorage.layerMemory)))
})
