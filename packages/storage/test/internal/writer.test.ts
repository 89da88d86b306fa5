import { describe, expect, it } from "@effect/vitest"
import type { Write } from "@skein/core/SessionStorage"
import { StorageError } from "@skein/core/StorageError"
import { SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { connect, execute, sqlite } from "../../src/internal/sqliteConnection.ts"
import { migrate } from "../../src/internal/sqliteMigrate.ts"
import { makeSqlStorage } from "../../src/internal/sqlStorage.ts"
import { retryBusy } from "../../src/internal/writer.ts"
import { ask, gate } from "../support/gate.ts"
import { sessionOf } from "../support/rows.ts"

const approval = (id: string, pattern = "*"): Write => ({
  _tag: "Approval",
  approval: { id, projectID: "project", permission: "bash", pattern, created: 1 }
})

/** Storage in memory that lets a test control its connection and flush, and close it before its connection. */
const make = (
  flush: Effect.Effect<void, StorageError> = Effect.void,
  scope?: Scope.Scope,
  rewrite: Effect.Effect<void, StorageError> = Effect.void
) =>
  Effect.gen(function*() {
    const connection = yield* connect(":memory:")
    yield* migrate(connection, ":memory:")
    const storage = yield* Scope.extend(
      makeSqlStorage({ connection, flush, rewrite, dialect: sqlite(":memory:") }),
      scope ?? (yield* Effect.scope)
    )
    return { storage, run: (sql: string) => execute(connection, ":memory:", sql) }
  })

const error = (reason: StorageError["reason"]) => new StorageError({ operation: "commit", reason, message: reason })

describe("writer", () => {
  it.scoped("stores what waits while the disk is busy in one transaction", () =>
    Effect.gen(function*() {
      const gates = yield* Effect.all([gate, gate])
      let flushes = 0
      const { run, storage } = yield* make(Effect.suspend(() => gates[flushes++]?.pass ?? Effect.void))
      const first = yield* ask(storage.commit([approval("first")]))
      yield* gates[0].reached
      const rest = yield* Effect.forEach(["a", "b", "c"], (id) => ask(storage.commit([approval(id)])))
      expect((yield* Fiber.poll(first))._tag).toBe("None")
      yield* gates[0].open
      yield* Fiber.join(first)
      yield* gates[1].reached
      expect(yield* run("SELECT id FROM approval")).toHaveLength(4)
      yield* gates[1].open
      yield* Fiber.joinAll(rest)
      expect(flushes).toBe(2)
    }))

  it.scoped("renews leases before the commits that wait, also if there is no room for more of those", () =>
    Effect.gen(function*() {
      const [working, renewing] = yield* Effect.all([gate, gate])
      let flushes = 0
      const { run, storage } = yield* make(Effect.suspend(() => [working, renewing][flushes++]?.pass ?? Effect.void))
      const rootID = SessionID.make("ses_root")
      const lease = { rootID, owner: "a", epoch: 1 }
      const first = yield* ask(storage.commit([
        { _tag: "Session", info: sessionOf(rootID, "t") },
        { _tag: "Hold", lease, length: 3_000, found: { owner: undefined, epoch: 0, until: 0, left: 0 } }
      ]))
      yield* working.reached
      const works = yield* Effect.forEach(
        Array.from({ length: 1_100 }, (_, at) => `${at}`),
        (id) => ask(storage.commit([approval(id)]))
      )
      const renewal = yield* ask(storage.commit([{ _tag: "Renew", lease, length: 3_600_000 }]))
      yield* working.open
      yield* renewing.reached
      expect(yield* run("SELECT id FROM approval")).toHaveLength(0)
      yield* renewing.open
      yield* Fiber.joinAll([first, renewal])
      expect(Option.getOrThrow(yield* storage.lease(rootID)).left).toBeGreaterThan(3_000_000)
      yield* Fiber.joinAll(works)
    }))

  it.scoped("waits for space on a full disk", () =>
    Effect.gen(function*() {
      const { run, storage } = yield* make()
      const [pages] = yield* run("PRAGMA page_count")
      yield* run(`PRAGMA max_page_count = ${Number(pages?.["page_count"])}`)
      const big = [approval("big", "x".repeat(100_000))]
      const waiting = yield* ask(storage.commit(big))
      yield* TestClock.adjust("20 seconds")
      expect((yield* Fiber.poll(waiting))._tag).toBe("None")
      yield* run("PRAGMA max_page_count = 4294967294")
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(waiting)
      expect(yield* run("SELECT id FROM approval")).toEqual([{ id: "big" }])
    }))

  it.scoped("counts the half minute of a commit from its request, also behind one that fails", () =>
    Effect.gen(function*() {
      const { run, storage } = yield* make()
      const [pages] = yield* run("PRAGMA page_count")
      yield* run(`PRAGMA max_page_count = ${Number(pages?.["page_count"])}`)
      const big = (id: string) => ask(Effect.flip(storage.commit([approval(id, "x".repeat(100_000))])))
      const first = yield* big("first")
      yield* TestClock.adjust("5 seconds")
      const second = yield* big("second")
      yield* TestClock.adjust("31 seconds")
      expect((yield* Fiber.poll(first))._tag).toBe("Some")
      expect((yield* Fiber.poll(second))._tag).toBe("Some")
      expect([yield* Fiber.join(first), yield* Fiber.join(second)]).toMatchObject([{ reason: "full" }, {
        reason: "full"
      }])
    }))

  it.scoped("acknowledges nothing that could not be flushed for half a minute", () =>
    Effect.gen(function*() {
      const { storage } = yield* make(Effect.fail(error("full")))
      const failed = yield* ask(Effect.flip(storage.commit([approval("a")])))
      yield* TestClock.adjust("29 seconds")
      expect((yield* Fiber.poll(failed))._tag).toBe("None")
      yield* TestClock.adjust("2 seconds")
      expect((yield* Fiber.join(failed)).reason).toBe("full")
    }))

  it.scoped("writes the log anew before it flushes again, and does not repeat the transaction", () =>
    Effect.gen(function*() {
      const steps: Array<string> = []
      const flush = Effect.suspend(() => {
        steps.push("flush")
        return steps.length < 5 ? Effect.fail(error("busy")) : Effect.void
      })
      const { run, storage } = yield* make(flush, undefined, Effect.sync(() => void steps.push("rewrite")))
      const stored = yield* ask(storage.commit([approval("a")]))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(stored)
      expect(steps).toEqual(["flush", "rewrite", "flush", "rewrite", "flush"])
      expect(yield* run("SELECT id FROM approval")).toHaveLength(1)
    }))

  it.scoped("reports after 30 seconds that the disk is full, stores nothing of the failed commit, and continues when there is space", () =>
    Effect.gen(function*() {
      const { run, storage } = yield* make()
      yield* storage.commit([approval("before")])
      const [pages] = yield* run("PRAGMA page_count")
      yield* run(`PRAGMA max_page_count = ${String(pages?.["page_count"])}`)
      const failing = yield* Effect.fork(Effect.forEach(
        ["a", "b"],
        (id) => Effect.either(storage.commit([approval(id, "x".repeat(100_000))])),
        { concurrency: "unbounded" }
      ))
      yield* TestClock.adjust("31 seconds")
      const results = yield* Fiber.join(failing)
      expect(results.map((result) => Either.isLeft(result) && result.left.reason)).toEqual(["full", "full"])
      expect(results.map((result) => Either.isLeft(result) && result.left.message)[0]).toMatch(
        /no space left.*Free some/
      )
      yield* run("PRAGMA max_page_count = 1000000")
      yield* storage.commit([approval("after", "x".repeat(100_000))])
      expect((yield* storage.approvals("project")).map(({ id }) => id)).toEqual(["after", "before"])
    }))

  it.scoped("reports a value that has no JSON, and continues", () =>
    Effect.gen(function*() {
      const { storage } = yield* make()
      const todos = [{ content: 1n }] as never
      const refused = yield* Effect.flip(storage.commit([{ _tag: "Todos", sessionID: "ses_a" as never, todos }]))
      expect(refused.message).toMatch(/has no JSON/)
      yield* storage.commit([approval("a")])
    }))

  it.scoped("lets a value that has no JSON fail alone in its group", () =>
    Effect.gen(function*() {
      const { storage } = yield* make()
      const todos = [{ content: 1n }] as never
      const results = yield* Effect.forEach(
        [
          [approval("a")],
          [approval("b"), { _tag: "Todos", sessionID: "ses_a" as never, todos } as Write],
          [approval("c")]
        ],
        (writes) => Effect.either(storage.commit(writes)),
        { concurrency: "unbounded" }
      )
      expect(results.map((result) => Either.isLeft(result) ? result.left.message : "stored")).toEqual([
        "stored",
        expect.stringMatching(/has no JSON/),
        "stored"
      ])
      expect((yield* storage.approvals("project")).map(({ id }) => id)).toEqual(["a", "c"])
    }))

  it.scoped("encodes only the last of several rows that replace each other in the queue", () =>
    Effect.gen(function*() {
      const flush = yield* gate
      const { storage } = yield* make(flush.pass)
      const encoded: Array<string> = []
      const titled = (title: string): Write => {
        const info = sessionOf(SessionID.make("ses_a"), title)
        // JSON.stringify calls toJSON.
        return { _tag: "Session", info: { ...info, toJSON: () => (encoded.push(title), info) } as SessionInfo }
      }
      const first = yield* ask(storage.commit([titled("first")]))
      yield* flush.reached
      const waiting = yield* Effect.forEach(["a", "b", "c"], (title) => ask(storage.commit([titled(title)])))
      yield* flush.open
      yield* Fiber.joinAll([first, ...waiting])
      expect(encoded).toEqual(["first", "c"])
      expect((yield* storage.sessions({})).rows.map(({ title }) => title)).toEqual(["c"])
    }))

  it.scoped("stores what waits when it is closed, and refuses what comes later", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const flush = yield* gate
      const { run, storage } = yield* make(flush.pass, scope)
      const waiting = yield* Effect.forEach(["a", "b", "c"], (id) => ask(storage.commit([approval(id)])))
      const closing = yield* ask(Scope.close(scope, Exit.void))
      const late = yield* Effect.flip(storage.commit([approval("d")]))
      yield* flush.open
      yield* Fiber.join(closing)
      yield* Fiber.joinAll(waiting)
      expect(late.message).toMatch(/was closed before/)
      expect(yield* run("SELECT id FROM approval")).toHaveLength(3)
    }))

  it.effect("gives up on a lock after 30 seconds", () =>
    Effect.gen(function*() {
      let tries = 0
      const fiber = yield* Effect.fork(Effect.flip(retryBusy(Effect.suspend(() => {
        tries++
        return Effect.fail(error("busy"))
      }))))
      yield* TestClock.adjust("29 seconds")
      expect((yield* Fiber.poll(fiber))._tag).toBe("None")
      expect(tries).toBeGreaterThan(100)
      yield* TestClock.adjust("2 seconds")
      expect((yield* Fiber.join(fiber)).reason).toBe("busy")
    }))

  it.effect("does not retry permanent errors", () =>
    Effect.gen(function*() {
      let tries = 0
      const failure = yield* Effect.flip(retryBusy(Effect.suspend(() => {
        tries++
        return Effect.fail(error("corrupt"))
      })))
      expect([failure.reason, tries]).toEqual(["corrupt", 1])
    }))
})
