import * as Reactivity from "@effect/experimental/Reactivity"
import * as PgClient from "@effect/sql-pg/PgClient"
import { describe, expect, it } from "@effect/vitest"
import type { Lease, StoredLease, Write } from "@skein/core/SessionStorage"
import { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import { newSchema, open, realTime, withServer } from "./support/postgres.ts"
import { sessionOf } from "./support/rows.ts"

const free: StoredLease = { owner: undefined, epoch: 0, until: 0, left: 0 }
const leaseOf = (name: string): Lease => ({ rootID: SessionID.make(`ses_${name}`), owner: "a", epoch: 1 })
const put = (name: string): Write => ({ _tag: "Session", info: sessionOf(SessionID.make(`ses_${name}`), name) })
const hold = (name: string): Write => ({ _tag: "Hold", lease: leaseOf(name), length: 3_000, found: free })
const renew = (name: string): Write => ({ _tag: "Renew", lease: leaseOf(name), length: 3_600_000 })

await withServer((server) => {
  /** Storage with two held trees, and a statement that begins a transaction of another process, which stays open. */
  const make = Effect.gen(function*() {
    const schema = newSchema()
    const storage = yield* open(server.url(), schema)
    yield* storage.commit(["one", "two"].flatMap((name) => [put(name), hold(name)]))
    const client = yield* PgClient.make({ url: Redacted.make(server.url()), maxConnections: 1 }).pipe(
      Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make)
    )
    const other = yield* client.reserve
    const run = (sql: string) => other.execute(sql, [], undefined)
    const left = (name: string) =>
      Effect.map(storage.lease(leaseOf(name).rootID), (lease) => Option.getOrThrow(lease).left)
    return { begin: (sql: string) => run(`SET search_path = ${schema}; BEGIN; ${sql}`), left, run, storage }
  })

  /** Waits until so many renewals wait for a lock, those included whose process is gone. */
  const untilWaiting = (count: number): Effect.Effect<void> =>
    Effect.flatMap(
      server.sql("SELECT 1 FROM pg_stat_activity WHERE application_name = 'skein-leases' AND wait_event_type = 'Lock'"),
      ({ length }) => length === count ? Effect.void : untilWaiting(count)
    )

  const isLong = (left: number) => left > 3_000_000

  describe("renewals in PostgreSQL", () => {
    it.scoped("do not wait for commits, whatever holds those up", () =>
      Effect.gen(function*() {
        const { begin, left, run, storage } = yield* make
        yield* begin("UPDATE skein_storage SET changes = changes + 1")
        const works = yield* Effect.fork(storage.commit([put("three")]))
        yield* storage.commit([renew("one"), renew("two")])
        expect([yield* left("one"), yield* left("two")].every(isLong)).toBe(true)
        expect((yield* Fiber.poll(works))._tag).toBe("None")
        yield* run("COMMIT")
        yield* Fiber.join(works)
      }))

    it.scoped("wait for a commit that changes the same tree, but not with the other trees", () =>
      Effect.gen(function*() {
        const { begin, left, run, storage } = yield* make
        yield* begin("UPDATE session SET data = data WHERE id = 'ses_one'")
        const renewing = yield* Effect.fork(storage.commit([renew("one"), renew("two")]))
        const renewed: Effect.Effect<void, unknown> = Effect.flatMap(
          left("two"),
          (time) => isLong(time) ? Effect.void : Effect.zipRight(realTime, renewed)
        )
        yield* renewed
        expect(isLong(yield* left("one"))).toBe(false)
        yield* run("COMMIT")
        yield* Fiber.join(renewing)
        expect(isLong(yield* left("one"))).toBe(true)
      }))

    it.scoped("begin again once if nothing comes of them, and then wait for a slow server as all others do", () =>
      Effect.gen(function*() {
        const { begin, left, run, storage } = yield* make
        yield* begin("LOCK TABLE session")
        const renewing = yield* Effect.fork(storage.commit([renew("one")]))
        yield* untilWaiting(1)
        yield* TestClock.adjust("1500 millis")
        yield* untilWaiting(2)
        yield* TestClock.adjust("9 seconds")
        yield* run("COMMIT")
        // It is no longer repeated: that would take time on the clock.
        yield* Fiber.join(renewing)
        expect(isLong(yield* left("one"))).toBe(true)
      }))

    it.scoped("renew the other trees if one is lost, and say so", () =>
      Effect.gen(function*() {
        const { left, storage } = yield* make
        yield* storage.commit([{ _tag: "Release", lease: leaseOf("one") }])
        const { reason } = yield* Effect.flip(storage.commit([renew("one"), renew("two")]))
        expect(reason).toBe("held")
        expect(isLong(yield* left("two"))).toBe(true)
      }))
  })
})
