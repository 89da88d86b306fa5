/** Owns the table of runners: where each is, and when it was last seen. */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { randomBytes } from "node:crypto"
import { unavailable } from "../ClusterUnavailable.ts"

/** A runner, as the table shows it. */
export interface Member {
  readonly owner: string
  readonly url: string
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
  `CREATE TABLE IF NOT EXISTS cluster_member (
    owner TEXT PRIMARY KEY, url TEXT NOT NULL, started TIMESTAMPTZ NOT NULL, seen TIMESTAMPTZ NOT NULL
  )`,
  "CREATE TABLE IF NOT EXISTS cluster_key (one BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one), key TEXT NOT NULL)"
]

const since = (column: string) => `CAST(extract(epoch FROM clock_timestamp() - ${column}) * 1000 AS INTEGER)`

/** The runners that were seen within the last minute. */
export const readMembers = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.unsafe<Member>(
    `SELECT owner, url, ${since("started")} AS age, ${since("seen")} AS silence FROM cluster_member
      WHERE seen > clock_timestamp() - interval '${longestSilence} milliseconds' ORDER BY started, owner`
  ))

/** Makes the table, if it is missing, and the entry of this runner. */
export const makeMembers = ({ owner, url }: { readonly owner: string; readonly url: string }) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    // Two processes that create a table at once may both find it missing.
    const create = Effect.retry(
      Effect.forEach(tables, (each) => sql.unsafe(each), { discard: true }),
      Schedule.intersect(Schedule.spaced("50 millis"), Schedule.recurs(10))
    )
    yield* Effect.mapError(create, unavailable("The tables of the cluster cannot be created"))

    const logged = (effect: Effect.Effect<unknown, SqlError>) =>
      Effect.catchAll(
        Effect.asVoid(effect),
        ({ message }) => Effect.logWarning("The table of runners could not be changed", message)
      )
    const stay = logged(sql`INSERT INTO cluster_member (owner, url, started, seen)
      VALUES (${owner}, ${url}, clock_timestamp(), clock_timestamp())
      ON CONFLICT (owner) DO UPDATE SET seen = excluded.seen`)
    const fresh = Effect.sync(() => randomBytes(32).toString("hex"))
    return {
      stay,
      leave: logged(sql`DELETE FROM cluster_member WHERE owner = ${owner}`),
      others: Effect.provideService(readMembers, SqlClient.SqlClient, sql).pipe(
        Effect.map((all) => all.filter((each) => each.owner !== owner && !isSilent(each))),
        Effect.catchAll(({ message }) =>
          Effect.as(Effect.logWarning("The table of runners could not be read", message), [])
        )
      ),
      /** The secret of those who share the database. */
      secret: Effect.gen(function*() {
        const proposed = yield* fresh
        yield* sql`INSERT INTO cluster_key (key) VALUES (${proposed}) ON CONFLICT DO NOTHING`
        const [row] = yield* sql<{ readonly key: string }>`SELECT key FROM cluster_key`
        return Redacted.make(row?.key ?? proposed)
      }).pipe(Effect.mapError(unavailable("The secret of the cluster cannot be read")))
    }
  })
