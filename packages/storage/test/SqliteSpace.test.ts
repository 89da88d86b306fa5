import { describe, expect, it } from "@effect/vitest"
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import type { Event } from "@skein/domain/Event"
import { EventID, SessionID } from "@skein/domain/Id"
import * as Sqlite from "@skein/storage/Sqlite"
import * as SqliteSpace from "@skein/storage/SqliteSpace"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as fs from "node:fs"
import { join } from "node:path"
import { sessionOf } from "./support/rows.ts"
import { integrity, sql } from "./support/sql.ts"
import { program, temporary } from "./support/startProcess.ts"

const sessionID = SessionID.make("ses_a")

const events = (count: number): ReadonlyArray<Write> =>
  Array.from({ length: count }, (_, index) => ({
    _tag: "Event",
    event: {
      id: EventID.make(`evt_${index}`),
      type: "session.error",
      timestamp: index,
      sessionID,
      rootID: sessionID,
      depth: 0,
      properties: { error: { tag: "Failed", message: "x".repeat(500) } }
    } as Event
  }))

describe("SqliteSpace", () => {
  it.scoped("returns the space of pruned events, while the storage is in use", () =>
    Effect.gen(function*() {
      const filename = join(yield* temporary, "skein.db")
      yield* Effect.gen(function*() {
        const storage = yield* SessionStorage
        yield* storage.commit(events(4_000))
        const full = yield* SqliteSpace.size(filename)
        yield* storage.prune({ before: 3_990, restingSince: 0 })
        yield* SqliteSpace.compact(filename)
        expect(yield* SqliteSpace.size(filename)).toBeLessThan(full / 10)
        expect((yield* storage.events({ after: 0 })).map(({ event }) => event.timestamp)[0]).toBe(3_990)
        yield* storage.commit(events(4_001).slice(4_000))
      }).pipe(Effect.provide(Sqlite.layer({ filename })))
      expect(yield* integrity(filename)).toBe("ok")
      expect(yield* sql(filename, "SELECT count(*) AS n FROM event")).toEqual([{ n: 11 }])
      expect(fs.readdirSync(join(filename, ".."))).toEqual(["skein.db"])
    }))

  it.scoped("deletes the counter of a tree with its last event, and no other", () =>
    Effect.gen(function*() {
      const filename = join(yield* temporary, "skein.db")
      const kept = sessionOf(SessionID.make("ses_kept"), "kept")
      const counters = sql(filename, "SELECT root_id, last FROM event_counter ORDER BY root_id")
      yield* Effect.gen(function*() {
        const storage = yield* SessionStorage
        yield* storage.commit([
          { _tag: "Session", info: kept },
          ...events(3),
          ...events(5).slice(3).map((write) =>
            write._tag === "Event"
              ? { ...write, event: { ...write.event, sessionID: kept.id, rootID: kept.id } }
              : write
          )
        ])
        yield* storage.prune({ before: 2, restingSince: 10 })
        expect(yield* counters).toEqual([{ root_id: "ses_a", last: 3 }, { root_id: "ses_kept", last: 2 }])
        yield* storage.prune({ before: 10, restingSince: 10 })
        expect(yield* storage.events({ after: 0 })).toEqual([])
        expect(yield* counters).toEqual([{ root_id: "ses_kept", last: 2 }])
      }).pipe(Effect.provide(Sqlite.layer({ filename })))
    }))

  it.scopedLive("waits for the lock of another process", () =>
    Effect.gen(function*() {
      const filename = join(yield* temporary, "skein.db")
      yield* Effect.provide(SessionStorage, Sqlite.layer({ filename }))
      const start = yield* program
      const { child, ended, lines } = yield* start(["hold", filename])
      yield* lines(1)
      const fiber = yield* Effect.fork(SqliteSpace.compact(filename))
      // The first try ends before this yields, because SQLite waits by blocking.
      yield* Effect.yieldNow()
      child.stdin.end()
      yield* ended
      yield* Fiber.join(fiber)
    }), 60_000)

  it.scoped("reports no space if there is no database, and creates none", () =>
    Effect.gen(function*() {
      const directory = yield* temporary
      yield* SqliteSpace.compact(join(directory, "skein.db"))
      expect(yield* SqliteSpace.size(join(directory, "skein.db"))).toBe(0)
      expect(fs.readdirSync(directory)).toEqual([])
    }))
})
