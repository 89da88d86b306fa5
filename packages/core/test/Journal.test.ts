import { describe, expect, it } from "@effect/vitest"
import { Bus } from "@skein/core/Bus"
import { Journal } from "@skein/core/Journal"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { Entry } from "@skein/core/Write"
import type { Event } from "@skein/domain/Event"
import { Ids, MessageID, PartID, RunID, SessionID } from "@skein/domain/Id"
import type { Message } from "@skein/domain/Message"
import type { Part } from "@skein/domain/Part"
import { type SessionInfo, version } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import * as Layer from "effect/Layer"
import { makeRecordedStorage } from "./support/storage.ts"

const ses = (name: string) => SessionID.make(`ses_${name}`)

const session = (name: string, title = name): SessionInfo => ({
  id: ses(name),
  ...(name === "root" ? {} : { parentID: ses("root") }),
  rootID: ses("root"),
  depth: name === "root" ? 0 : 1,
  projectID: "project",
  directory: "/work",
  title,
  agent: "build",
  permission: [],
  usage: { own: none, subtree: none },
  version,
  time: { created: 1, updated: 1 }
})

const message = (of: string, name: string): Message => ({
  id: MessageID.make(`msg_${name}`),
  sessionID: ses(of),
  role: "user",
  agent: "build",
  time: { created: 1 }
})

const part = (of: string, to: string, name: string): Part => ({
  id: PartID.make(`prt_${name}`),
  sessionID: ses(of),
  messageID: MessageID.make(`msg_${to}`),
  type: "text",
  text: name
})

const storing = (fails = false) => {
  const storage = makeRecordedStorage()
  if (fails) storage.failWhere((n) => n === 1)
  const layer = Journal.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(storage.layer, Bus.layer, Ids.layer))
  )
  return { storage, layer }
}

/** Commits on top of a stored root; returns what was published and logged, and whether it was refused. */
const outcomeOf = (entries: (journal: typeof Journal.Service) => ReadonlyArray<Entry>, fails = false) => {
  const { layer, storage } = storing()
  return Effect.gen(function*() {
    const journal = yield* Journal
    const root = session("root")
    yield* journal.commit([{ _tag: "Session", info: root, isNew: true }, {
      _tag: "Message",
      info: message("root", "a")
    }])
    if (fails) storage.failWhere((n) => n === 1)
    const before = (yield* (yield* SessionStorage).events({ after: 0 })).length
    const published: Array<Event> = []
    yield* (yield* Bus).listen({ all: true }, (event) => published.push(event))
    const result = yield* Effect.either(journal.commit(entries(journal), root))
    const logged = (yield* (yield* SessionStorage).events({ after: 0 })).slice(before)
    return { published, logged: logged.map(({ event }) => event), isRefused: Either.isLeft(result) }
  }).pipe(Effect.scoped, Effect.provide(layer))
}

type Name = "child" | "other"

const childArbitrary = fc.constantFrom<Name>("child", "other")

/** Possible contents of a commit. Some lists are refused, such as those with a part of a missing message. */
const kinds = fc.oneof(
  childArbitrary.map((name) => ({ kind: "created" as const, name })),
  fc.record({ kind: fc.constant("updated" as const), title: fc.string() }),
  fc.record({ kind: fc.constant("message" as const), name: fc.constantFrom("a", "b") }),
  fc.record({ kind: fc.constant("part" as const), to: fc.constantFrom("a", "b"), name: fc.constantFrom("p", "q") }),
  fc.record({ kind: fc.constant("todos" as const), content: fc.string() }),
  fc.constant({ kind: "stateless" as const }),
  fc.constant({ kind: "fact" as const })
)

type Kind = typeof kinds extends fc.Arbitrary<infer A> ? A : never

const entryOf = (journal: typeof Journal.Service, each: Kind): Entry => {
  switch (each.kind) {
    case "created":
      return { _tag: "Session", info: session(each.name), isNew: true }
    case "updated":
      return { _tag: "Session", info: session("root", each.title) }
    case "message":
      return { _tag: "Message", info: message("root", each.name) }
    case "part":
      return { _tag: "Part", part: part("root", each.to, each.name) }
    case "todos":
      return {
        _tag: "Todos",
        sessionID: ses("root"),
        todos: [{ content: each.content, status: "pending", priority: "low" }]
      }
    case "stateless":
      return { _tag: "RemoveApproval", id: "none" }
    case "fact":
      return journal.fact(session("root"), "session.idle", {})
  }
}

/** The event that watchers expect, by its kind and subject. */
const expected = (each: Kind): ReadonlyArray<readonly [Event["type"], SessionID, string]> => {
  switch (each.kind) {
    case "created":
      return [["session.created", ses(each.name), each.name]]
    case "updated":
      return [["session.updated", ses("root"), each.title]]
    case "message":
      return [["message.updated", ses("root"), `msg_${each.name}`]]
    case "part":
      return [["message.part.updated", ses("root"), `prt_${each.name}`]]
    case "todos":
      return [["todo.updated", ses("root"), each.content]]
    case "stateless":
      return []
    case "fact":
      return [["session.idle", ses("root"), ""]]
  }
}

const seen = (event: Event): readonly [Event["type"], SessionID, string] => {
  switch (event.type) {
    case "session.created":
    case "session.updated":
      return [event.type, event.sessionID, event.properties.info.title]
    case "message.updated":
      return [event.type, event.sessionID, event.properties.info.id]
    case "message.part.updated":
      return [event.type, event.sessionID, event.properties.part.id]
    case "todo.updated":
      return [event.type, event.sessionID, event.properties.todos[0]?.content ?? ""]
    default:
      return [event.type, event.sessionID, ""]
  }
}

describe("Journal", () => {
  it.effect("publishes exactly what a commit stored, in order, and nothing of one that failed", () =>
    Effect.gen(function*() {
      let refusals = 0
      let commits = 0
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(fc.array(kinds, { maxLength: 12 }), fc.boolean(), async (list, fails) => {
            const { isRefused, logged, published } = await Effect.runPromise(
              outcomeOf((journal) => list.map((each) => entryOf(journal, each)), fails)
            )
            expect(published.map(seen)).toEqual(isRefused ? [] : list.flatMap(expected))
            expect(logged.map(({ id }) => id)).toEqual(published.map(({ id }) => id))
            expect(published.map(({ id }) => id)).toEqual(published.map(({ id }) => id).toSorted())
            if (isRefused) refusals++
            else commits++
          })
        )
      )
      expect(Math.min(refusals, commits)).toBeGreaterThan(10)
    }))

  it.effect("returns the `seq` of the last event that a commit stored, and publishes each event with its own", () =>
    Effect.gen(function*() {
      const { layer } = storing()
      yield* Effect.gen(function*() {
        const journal = yield* Journal
        const info = session("root")
        const published: Array<Event> = []
        yield* (yield* Bus).listen({ all: true }, (event) => published.push(event))
        const first = yield* journal.commit([{ _tag: "Session", info, isNew: true }])
        const second = yield* journal.commit([{ _tag: "Message", info: message("root", "a") }, {
          _tag: "Part",
          part: part("root", "a", "p")
        }], info)
        const nothing = yield* journal.commit([{ _tag: "RemoveApproval", id: "none" }])
        journal.tell(info, "session.status", { status: { type: "idle" } }, 1)
        const log = yield* (yield* SessionStorage).events({ after: 0 })
        expect([first, second, nothing]).toEqual([{ seq: log[0]?.seq }, { seq: log[2]?.seq }, { seq: undefined }])
        expect(published.map(({ id, seq }) => ({ id, seq })).slice(0, 3)).toEqual(
          log.map(({ event: { id }, seq }) => ({ id, seq }))
        )
        expect(published.at(-1)).not.toHaveProperty("seq")
      }).pipe(Effect.scoped, Effect.provide(layer))
    }))

  it.effect("publishes a new session with everything in it as one event", () =>
    Effect.gen(function*() {
      const { logged, published } = yield* outcomeOf(() => [
        { _tag: "Session", info: session("child"), isNew: true },
        { _tag: "Message", info: message("child", "c") },
        { _tag: "Part", part: part("child", "c", "r") },
        { _tag: "Todos", sessionID: ses("child"), todos: [] }
      ])
      expect(published.map(seen)).toEqual([["session.created", ses("child"), "child"]])
      expect(logged.map(({ id }) => id)).toEqual(published.map(({ id }) => id))
    }))

  it.effect("publishes the deletion of a session with its last row", () =>
    Effect.gen(function*() {
      const { published } = yield* outcomeOf(() => [{ _tag: "DeleteSession", info: session("root") }])
      expect(published).toMatchObject([{ type: "session.deleted", properties: { info: { title: "root" } } }])
    }))

  it.effect("stores nothing of a row of another session", () =>
    Effect.gen(function*() {
      const { layer, storage } = storing()
      yield* Effect.gen(function*() {
        const journal = yield* Journal
        for (const source of [undefined, session("other")]) {
          const exit = yield* Effect.exit(journal.commit([{ _tag: "Message", info: message("root", "b") }], source))
          expect(exit).toMatchObject({ _tag: "Failure", cause: { _tag: "Die" } })
        }
        expect(storage.log).toEqual([])
      }).pipe(Effect.provide(layer))
    }))

  it.effect("stores an event that no row implies once, however often its commit is retried", () =>
    Effect.gen(function*() {
      const { layer, storage } = storing()
      yield* Effect.gen(function*() {
        const journal = yield* Journal
        const info = session("root")
        yield* journal.commit([{ _tag: "Session", info, isNew: true }])
        const fact = journal.fact(info, "session.idle", {})
        yield* journal.commit([fact])
        yield* journal.commit([fact])
        const events = yield* (yield* SessionStorage).events({ after: 0 })
        expect(events.map(({ event }) => event.type)).toEqual(["session.created", "session.idle"])
      }).pipe(Effect.provide(layer))
      expect(storage.commits()).toBe(3)
    }))

  it.effect("publishes ephemeral events and progress of calls, and stores neither", () =>
    Effect.gen(function*() {
      const { layer } = storing()
      yield* Effect.gen(function*() {
        const journal = yield* Journal
        const info = session("root")
        yield* journal.commit([{ _tag: "Session", info, isNew: true }])
        const published: Array<Event> = []
        yield* (yield* Bus).listen({ all: true }, (event) => published.push(event))
        journal.tell(info, "session.status", { status: { type: "idle" } }, 1)
        journal.report(info, {
          id: PartID.make("prt_1"),
          sessionID: info.id,
          messageID: MessageID.make("msg_1"),
          type: "tool",
          callID: RunID.make("run_1"),
          tool: "bash",
          state: { status: "running", input: {}, title: "half", time: { start: 1 } }
        }, 1)
        expect(published.map(({ type }) => type)).toEqual(["session.status", "message.part.updated"])
        expect((yield* (yield* SessionStorage).events({ after: 0 })).map(({ event }) => event.type)).toEqual([
          "session.created"
        ])
      }).pipe(Effect.scoped, Effect.provide(layer))
    }))
})

describe("rows that a session owes", () => {
  /** A stored root, and the names of the parts that each commit stores after it. */
  const owing = <A, E>(
    use: (journal: typeof Journal.Service, root: SessionInfo, fail: () => void) => Effect.Effect<A, E>
  ) => {
    const { layer, storage } = storing()
    return Effect.gen(function*() {
      const journal = yield* Journal
      const root = session("root")
      yield* journal.commit([
        { _tag: "Session", info: root, isNew: true },
        { _tag: "Message", info: message("root", "a") }
      ])
      storage.log.length = 0
      const result = yield* use(journal, root, () => storage.failWhere((n) => n === 1))
      const parts = storage.log.flatMap((entry) =>
        entry.type === "stored"
          ? [
            entry.writes.flatMap((write) =>
              write._tag === "Part" && write.part.type === "text" ? [write.part.text] : []
            )
          ]
          : []
      )
      return { result, parts, owes: journal.owes(root.id) }
    }).pipe(Effect.scoped, Effect.provide(layer))
  }
  const row = (name: string): Entry => ({ _tag: "Part", part: part("root", "a", name) })

  it.effect("are stored in one commit with what the session stores next", () =>
    Effect.gen(function*() {
      const { owes, parts } = yield* owing((journal, root) =>
        Effect.zipRight(
          Effect.zipRight(journal.owe([row("result")], root), journal.owe([row("second")], root)),
          Effect.zipRight(journal.commit([row("request")], root), journal.paid(root))
        )
      )
      expect(parts).toEqual([["result", "second", "request"]])
      expect(owes).toBe(false)
    }))

  it.effect("are stored by themselves as soon as the session waits for something else", () =>
    Effect.gen(function*() {
      const { parts } = yield* owing((journal, root) =>
        journal.owe([row("result")], root).pipe(
          Effect.zipRight(Effect.yieldNow()),
          Effect.zipRight(journal.commit([row("request")], root))
        )
      )
      expect(parts).toEqual([["result"], ["request"]])
    }))

  it.effect("fail what waits for them, once, if they could not be stored", () =>
    Effect.gen(function*() {
      const { result } = yield* owing((journal, root, fail) =>
        Effect.gen(function*() {
          fail()
          yield* journal.owe([row("result")], root)
          yield* Effect.yieldNow()
          const first = yield* Effect.either(journal.paid(root))
          return [Either.isLeft(first), Either.isLeft(yield* Effect.either(journal.paid(root)))]
        })
      )
      expect(result).toEqual([true, false])
    }))
})
