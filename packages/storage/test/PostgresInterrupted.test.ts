import * as Reactivity from "@effect/experimental/Reactivity"
import * as PgClient from "@effect/sql-pg/PgClient"
import { describe, expect, it } from "@effect/vitest"
import { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import { newSchema, open, withServer } from "./support/postgres.ts"
import { sessionOf } from "./support/rows.ts"

const id = SessionID.make("ses_a")

await withServer((server) => {
  /** Waits until so many reads wait for a lock. */
  const untilWaiting = (count: number): Effect.Effect<void> =>
    Effect.flatMap(
      server.sql("SELECT 1 FROM pg_stat_activity WHERE application_name = 'skein' AND wait_event_type = 'Lock'"),
      ({ length }) => length === count ? Effect.void : untilWaiting(count)
    )

  describe("reads in PostgreSQL that are interrupted", () => {
    it.scoped("end at once, and do not wait for each other", () =>
      Effect.gen(function*() {
        const schema = newSchema()
        const storage = yield* open(server.url(), schema)
        yield* storage.commit([{ _tag: "Session", info: sessionOf(id, "a") }])
        const client = yield* PgClient.make({ url: Redacted.make(server.url()), maxConnections: 1 }).pipe(
          Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make)
        )
        const other = yield* client.reserve
        yield* other.execute(`BEGIN; LOCK TABLE ${schema}.session`, [], undefined)
        // As many as there are connections, and one that waits for a connection.
        const reading = yield* Effect.forEach([1, 2, 3, 4, 5, 6], () => Effect.fork(storage.sessions({})))
        yield* untilWaiting(5)
        const first = yield* Effect.raceFirst(
          Effect.as(Fiber.interruptAll(reading), "those who read have left"),
          Effect.as(untilWaiting(0), "the server gave up on the lock")
        )
        expect(first).toBe("those who read have left")
        yield* other.execute("COMMIT", [], undefined)
        const { rows } = yield* storage.sessions({})
        expect(rows.map((row) => row.id)).toEqual([id])
      }))
  })
})
