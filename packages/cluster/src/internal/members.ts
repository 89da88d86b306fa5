/** Owns the table of runners: where each is, and when it was last seen. */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { setServers } from "@skein/core/Metrics"
import { steady } from "@skein/core/MonotonicClock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { createHmac, randomBytes } from "node:crypto"
import { ClusterUnavailable, unavailable } from "../ClusterUnavailable.ts"
import { placeTables } from "./placeTables.ts"
import { shareTables } from "./shares.ts"

/** A runner, as the table shows it. */
export interface Member {
  readonly owner: string
  readonly url: string
  /** What it works on, in JSON, as it said when it was last seen. */
  readonly load: string
  /** What its secret can be recognised by. */
  readonly proof: string
  /** How long ago it started, and was last seen, in milliseconds. */
  readonly age: number
  readonly silence: number
}

/** Since when a runner that was not seen is no longer listed, in milliseconds. */
const longestSilence = 60_000

/** Since when one is asked no more, in milliseconds. */
const silentAfter = 5_000

/** Whether a runner was not seen for some seconds. */
export const isSilent = ({ silence }: Member): boolean => silence > silentAfter

const tables = [
  ...shareTables,
  ...placeTables,
  `CREATE TABLE IF NOT EXISTS cluster_member (
    owner TEXT PRIMARY KEY, url TEXT NOT NULL, started TIMESTAMPTZ NOT NULL, seen TIMESTAMPTZ NOT NULL,
    load TEXT NOT NULL, proof TEXT NOT NULL
  )`,
  `CREATE TABLE IF NOT EXISTS cluster_takeover (
    root_id TEXT NOT NULL, from_url TEXT, to_url TEXT NOT NULL, at TIMESTAMPTZ NOT NULL, took INTEGER NOT NULL
  )`,
  "CREATE INDEX IF NOT EXISTS cluster_takeover_at ON cluster_takeover (at)",
  // Each runner looks for unfinished turns twice a second. The condition is that of `unfinished` in the storage, word for
  // word: without this index, each look would read all sessions.
  `CREATE INDEX IF NOT EXISTS session_open ON session (id) WHERE data LIKE '%"turn":{%'
    AND (data NOT LIKE '%"ended":{%' OR data LIKE '%"unclosed":true%')`,
  "CREATE TABLE IF NOT EXISTS cluster_key (one BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one), key TEXT NOT NULL)"
]

/** Milliseconds since a time, as a number: an integer would end after 24 days. */
export const since = (column: string): string =>
  `CAST(round(extract(epoch FROM clock_timestamp() - ${column}) * 1000) AS DOUBLE PRECISION)`

/** The runners that were seen within the last minute. */
export const readMembers = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.unsafe<Member>(
    `SELECT owner, url, load, proof, ${since("started")} AS age, ${since("seen")} AS silence FROM cluster_member
      WHERE seen > clock_timestamp() - interval '${longestSilence} milliseconds' ORDER BY started, owner`
  ))

const databaseTime = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS DOUBLE PRECISION) AS time"

/** The time of the database, in milliseconds: the clocks of hosts may differ. */
const makeTime = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const clock = yield* Effect.clock
  let ahead = 0
  const note = (rows: ReadonlyArray<{ readonly time: number }>) => {
    for (const { time } of rows) ahead = time - steady(clock)
  }
  note(yield* sql.unsafe<{ readonly time: number }>(`SELECT ${databaseTime}`))
  return { note, time: () => Math.round(steady(clock) + ahead) }
})

const logged = (effect: Effect.Effect<unknown, SqlError>) =>
  Effect.catchAll(
    Effect.asVoid(effect),
    ({ message }) => Effect.logWarning("The table of runners could not be used", message)
  )

/** The secret of those who share the database. */
const sharedSecret = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const proposed = yield* Effect.sync(() => randomBytes(32).toString("hex"))
  yield* sql`INSERT INTO cluster_key (key) VALUES (${proposed}) ON CONFLICT DO NOTHING`
  const [row] = yield* sql<{ readonly key: string }>`SELECT key FROM cluster_key`
  return Redacted.make(row?.key ?? proposed)
}).pipe(Effect.mapError(unavailable("The secret of the cluster cannot be read")))

/** Tells secrets apart, and does not help to find them: they are too long to guess. */
const proofOf = (secret: Redacted.Redacted): string =>
  createHmac("sha256", Redacted.value(secret)).update("skein cluster").digest("hex").slice(0, 32)

/** Fails if a runner that is at work has another secret: neither would accept what the other sends on. */
const checkSecret = Effect.fnUntraced(function*(proof: string) {
  const members = yield* Effect.mapError(readMembers, unavailable("The other servers cannot be read"))
  const other = members.find((each) => !isSilent(each) && each.proof !== proof)
  if (other === undefined) return
  return yield* new ClusterUnavailable({
    message:
      `The server ${other.url} of this cluster has another secret. Give all of them the same --cluster-secret-file. To change the secret, stop all of them first.`
  })
})

/** Makes the tables, if they are missing, and the entry of this runner. Without a secret, it takes that of the database. */
export const makeMembers = ({ owner, secret: given, url }: {
  readonly owner: string
  readonly url: string
  readonly secret: Redacted.Redacted | undefined
}) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    // Two processes that create a table at once may both find it missing.
    const create = Effect.retry(
      Effect.forEach(tables, (each) => sql.unsafe(each), { discard: true }),
      Schedule.intersect(Schedule.spaced("50 millis"), Schedule.recurs(10))
    )
    yield* Effect.mapError(create, unavailable("The tables of the cluster cannot be created"))
    const secret = given ?? (yield* sharedSecret)
    const proof = proofOf(secret)
    yield* checkSecret(proof)
    const { note, time } = yield* Effect.mapError(makeTime, unavailable("The time of the database cannot be read"))
    const read = Effect.provideService(readMembers, SqlClient.SqlClient, sql)

    const stay = (load: object) =>
      logged(Effect.map(
        sql<{ readonly time: number }>`INSERT INTO cluster_member (owner, url, started, seen, load, proof)
          VALUES (${owner}, ${url}, clock_timestamp(), clock_timestamp(), ${JSON.stringify(load)}, ${proof})
          ON CONFLICT (owner) DO UPDATE SET seen = excluded.seen, load = excluded.load
          RETURNING ${sql.literal(databaseTime)}`,
        note
      ))
    return {
      secret,
      time,
      /** Says that this runner is there, and what it works on. */
      stay,
      leave: logged(sql`DELETE FROM cluster_member WHERE owner = ${owner}`),
      /** Measures how many there are. */
      count: logged(Effect.map(read, (all) => {
        const silent = all.filter(isSilent).length
        setServers("silent", silent)
        setServers("alive", all.length - silent)
      })),
      others: read.pipe(
        Effect.map((all) => all.filter((each) => each.owner !== owner && !isSilent(each))),
        Effect.catchAll(({ message }) =>
          Effect.as(Effect.logWarning("The table of runners could not be read", message), [])
        )
      )
    }
  })
