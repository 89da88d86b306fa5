import * as Reactivity from "@effect/experimental/Reactivity"
import * as PgClient from "@effect/sql-pg/PgClient"
import { describe, expect, it } from "@effect/vitest"
import type { Write } from "@skein/core/SessionStorage"
import { EventID, MessageID, SessionID } from "@skein/domain/Id"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import { makeProxy } from "./support/cutProxy.ts"
import { newSchema, open, passTime, realTime, withServer } from "./support/postgres.ts"
import { sessionOf } from "./support/rows.ts"

const ses = (name: string) => SessionID.make(`ses_${name}`)
const msg = (name: string) => MessageID.make(`msg_${name}`)
const root = ses("root")

const put = (name: string, title = name): Write => ({ _tag: "Session", info: sessionOf(ses(name), title) })

const word = (name: string, of = "root"): Write => ({
  _tag: "Inbox",
  row: { id: msg(name), sessionID: ses(of), kind: "steer", parts: [], time: { created: 1 } }
})

const take = (name: string, of = "root"): Write => ({ _tag: "InboxTaken", id: msg(name), sessionID: ses(of), at: 1 })

const event = (name: string, of = "root"): Write => ({
  _tag: "Event",
  event: {
    id: EventID.make(`evt_${name}`),
    type: "session.idle",
    timestamp: 1,
    sessionID: ses(of),
    rootID: ses(of),
    depth: 0,
    properties: {}
  }
})

/** Lets the pauses between tries pass, but not the patience with a connection. */
const retries = Effect.forever(Effect.zipRight(TestClock.adjust("1 millis"), realTime))

/** What the client of PostgreSQL sends with. */
interface Reserved {
  readonly pg: {
    readonly connection: {
      readonly parse: (statement: object) => void
      readonly stream: { readonly write: (data: Buffer) => void }
    }
  }
}

/** The begin of a message with parameters. */
const halfOfBind = Buffer.from("B\0\0\x01\0")

/** A process that is about to commit, and whose request breaks off: its statement arrives, but not its parameters. */
const breakOff = (url: string, schema: string) =>
  Effect.gen(function*() {
    const client = yield* PgClient.make({ url: Redacted.make(url), maxConnections: 1 }).pipe(
      Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make)
    )
    const other = yield* client.reserve
    const begin =
      `SET idle_in_transaction_session_timeout = '2s'; BEGIN; UPDATE ${schema}.skein_storage SET changes = changes + 1`
    yield* other.execute(begin, [], undefined)
    const { connection } = (other as unknown as Reserved).pg
    connection.parse({ name: "", text: "SELECT $1::text", types: [] })
    connection.stream.write(halfOfBind)
  })

await withServer((server) => {
  const throughProxy = Effect.gen(function*() {
    const proxy = yield* makeProxy(server.port)
    const url = new URL(server.url())
    url.port = String(proxy.port)
    const schema = newSchema()
    return { proxy, schema, storage: yield* open(url.href, schema) }
  })

  describe("PostgreSQL, when a connection is lost", () => {
    // Taking a row cannot be done twice: repeating a stored commit would be refused.
    it.scopedLive("stores a commit once if its COMMIT was not acknowledged, whether it was stored or not", () =>
      Effect.gen(function*() {
        const { proxy, storage } = yield* throughProxy
        yield* storage.commit([put("root"), word("a"), word("b"), word("c")])
        yield* proxy.cut("after")
        yield* storage.commit([take("a")])
        yield* proxy.cut("before")
        yield* storage.commit([take("b")])
        yield* proxy.cut("before", "after", "before", "after")
        yield* storage.commit([take("c"), put("root", "done")])
        expect(yield* proxy.cutsMade).toBe(4)
        expect((yield* storage.inbox(root)).rows).toEqual([])
        expect(Option.map(yield* storage.session(root), ({ title }) => title)).toEqual(Option.some("done"))
        expect((yield* Effect.flip(storage.commit([take("a")]))).reason).toBe("constraint")
      }))

    it.scoped.each(["unheard", "unanswered"] as const)(
      "stores a commit once whose COMMIT is %s on a connection that stays open",
      (cut) =>
        Effect.gen(function*() {
          const { proxy, storage } = yield* throughProxy
          yield* storage.commit([put("root"), word("a")])
          yield* proxy.cut(cut)
          const fiber = yield* Effect.fork(storage.commit([take("a")]))
          while ((yield* proxy.cutsMade) === 0) yield* realTime
          yield* TestClock.adjust("10 seconds")
          yield* Effect.raceFirst(Fiber.join(fiber), retries)
          expect((yield* storage.inbox(root)).rows).toEqual([])
          expect((yield* Effect.flip(storage.commit([take("a")]))).reason).toBe("constraint")
        }),
      20_000
    )

    it.scopedLive(
      "is not held up for ever by a process whose network went away in the middle of a request",
      () =>
        Effect.gen(function*() {
          const schema = newSchema()
          const storage = yield* open(server.url(), schema)
          yield* storage.commit([put("root")])
          yield* breakOff(server.url(), schema)
          yield* storage.commit([put("root", "later")])
          expect(Option.map(yield* storage.session(root), ({ title }) => title)).toEqual(Option.some("later"))
        }),
      30_000
    )

    it.scopedLive("waits for a COMMIT that the server is still processing", () =>
      Effect.gen(function*() {
        const { proxy, schema, storage } = yield* throughProxy
        yield* storage.commit([put("root"), word("a")])
        yield* server.sql(
          `CREATE FUNCTION ${schema}.slow() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_sleep(0.5); RETURN NEW; END $$;
          CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON ${schema}.approval DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION ${schema}.slow()`
        )
        const approval = { id: "a", projectID: "project", permission: "bash", pattern: "*", created: 1 }
        yield* proxy.cut("while")
        yield* storage.commit([take("a"), { _tag: "Approval", approval }])
        expect(yield* proxy.cutsMade).toBe(1)
        expect((yield* storage.inbox(root)).rows).toEqual([])
        expect(yield* storage.approvals("project")).toEqual([approval])
      }))

    it.scopedLive("still knows which commits of a group were refused", () =>
      Effect.gen(function*() {
        const { proxy, storage } = yield* throughProxy
        yield* storage.commit([put("root"), word("a"), word("b")])
        yield* proxy.cut("after")
        const results = yield* Effect.forEach(
          [[take("a")], [take("none")], [take("b")]],
          (writes) => Effect.either(storage.commit(writes)),
          { concurrency: "unbounded" }
        )
        expect(yield* proxy.cutsMade).toBe(1)
        expect(results.map(Either.isRight)).toEqual([true, false, true])
        expect((yield* storage.inbox(root)).rows).toEqual([])
      }))

    it.scoped(
      "reports after 30 seconds that the outcome of a commit is unknown, and continues later",
      () =>
        Effect.gen(function*() {
          const { proxy, storage } = yield* throughProxy
          yield* storage.commit([put("root"), word("a")])
          yield* proxy.cut("after")
          const before = yield* proxy.cutsMade
          const fiber = yield* Effect.fork(Effect.either(storage.commit([take("a")])))
          while ((yield* proxy.cutsMade) === before) yield* realTime
          yield* proxy.close
          const passing = yield* Effect.fork(passTime)
          const result = yield* Fiber.join(fiber)
          yield* Fiber.interrupt(passing)
          expect(Either.isLeft(result) && result.left.reason).toBe("busy")
          expect(Either.isLeft(result) && result.left.message).toMatch(
            /could not be reached for 30 seconds.*last change may or may not have been stored/
          )
          yield* proxy.open
          yield* storage.commit([put("root", "later")])
          expect(Option.map(yield* storage.session(root), ({ title }) => title)).toEqual(Option.some("later"))
          expect((yield* storage.inbox(root)).rows).toEqual([])
        }),
      20_000
    )

    it.scopedLive("loses and repeats nothing while the server crashes twice", () =>
      Effect.gen(function*() {
        const storage = yield* open(server.url(), newSchema())
        const sessions = Array.from({ length: 50 }, (_, index) => `s${index}`)
        const steps = ["a", "b", "c"]
        const milestones = yield* Effect.all([Deferred.make<void>(), Deferred.make<void>()])
        let acknowledged = 0
        const work = Effect.forEach(sessions, (name) =>
          Effect.gen(function*() {
            yield* storage.commit([put(name), word(`${name}0`, name)])
            for (const [index, step] of steps.entries()) {
              yield* storage.commit([
                put(name, step),
                take(`${name}${index}`, name),
                word(`${name}${index + 1}`, name),
                event(`${name}${step}`, name)
              ])
              acknowledged++
              const reached = acknowledged === 30 ? milestones[0] : acknowledged === 90 ? milestones[1] : undefined
              if (reached !== undefined) yield* Deferred.succeed(reached, undefined)
            }
          }), { concurrency: 10, discard: true })
        const crashes = Effect.forEach(
          milestones,
          (reached) => Effect.zipRight(Deferred.await(reached), Effect.zipRight(server.crash, server.start)),
          { discard: true }
        )
        yield* Effect.all([work, crashes], { concurrency: "unbounded" })
        expect((yield* storage.sessions({})).rows.map(({ title }) => title)).toEqual(sessions.map(() => "c"))
        const waiting = yield* Effect.forEach(sessions, (name) => storage.inbox(ses(name)))
        expect(waiting.map(({ rows }) => rows.map(({ id }) => id))).toEqual(sessions.map((name) => [msg(`${name}3`)]))
        expect((yield* storage.events({ after: 0 })).map((logged) => logged.event.id).toSorted()).toEqual(
          sessions.flatMap((name) => steps.map((step) => `evt_${name}${step}`)).toSorted()
        )
      }), 40_000)
  })
})
