/** Owns the table of servers: where each is, and when it was last seen. */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Owner } from "@skein/core/Owner"
import * as Effect from "effect/Effect"
import { makeRepeatedLog } from "./repeatedLog.ts"

/** A server, as the table shows it. */
export interface Member {
  readonly owner: string
  readonly url: string
  /** What it works on, in JSON, as it said when it was last seen. */
  readonly load: string
  /** What its secret can be recognised by; `alone` if it is no runner of a cluster. */
  readonly proof: string
  /** How long ago it started, and was last seen, in milliseconds. */
  readonly age: number
  readonly silence: number
}

/** Stands for the secret of a server that works alone. No runner accepts it, also one of an older version. */
export const alone = "alone"

/** Since when a server that was not seen is no longer listed, in milliseconds. */
const longestSilence = 60_000

/** Since when one is asked no more, in milliseconds. */
const silentAfter = 5_000

/** Whether a server was not seen for some seconds. */
export const isSilent = ({ silence }: Member): boolean => silence > silentAfter

/** The table. */
export const entryTable = `CREATE TABLE IF NOT EXISTS cluster_member (
  owner TEXT PRIMARY KEY, url TEXT NOT NULL, started TIMESTAMPTZ NOT NULL, seen TIMESTAMPTZ NOT NULL,
  load TEXT NOT NULL, proof TEXT NOT NULL
)`

/**
 * Milliseconds since a time, as a number: an integer would end after 24 days. 0 if the time is still to come, because the
 * clock of the database was set back.
 */
export const since = (column: string): string =>
  `CAST(greatest(0, round(extract(epoch FROM clock_timestamp() - ${column}) * 1000)) AS DOUBLE PRECISION)`

const readServers = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.unsafe<Member>(
    `SELECT owner, url, load, proof, ${since("started")} AS age, ${since("seen")} AS silence FROM cluster_member
      WHERE seen > clock_timestamp() - interval '${longestSilence} milliseconds' ORDER BY started, owner`
  ))

/** The runners that were seen within the last minute. */
export const readMembers = Effect.map(readServers, (servers) => servers.filter(({ proof }) => proof !== alone))

/** The other servers at work, without those whose process has certainly ended. */
export const readPresent: Effect.Effect<ReadonlyArray<Member>, SqlError, Owner | SqlClient.SqlClient> = Effect.gen(
  function*() {
    const owner = yield* Owner
    const others = (yield* readServers).filter((each) => each.owner !== owner.id && !isSilent(each))
    return yield* Effect.filter(others, (each) => Effect.map(owner.isGone(each.owner), (isGone) => !isGone))
  }
)

/** The time of the database, in milliseconds. */
export const databaseTime = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS DOUBLE PRECISION) AS time"

/** The entry of this process with this proof. */
export const makeEntry = (proof: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const { id } = yield* Owner
    return {
      /** Says that this server is there, and what it works on. Gives the time of the database. */
      put: (url: string, load: object) =>
        sql<{ readonly time: number }>`INSERT INTO cluster_member (owner, url, started, seen, load, proof)
          VALUES (${id}, ${url}, clock_timestamp(), clock_timestamp(), ${JSON.stringify(load)}, ${proof})
          ON CONFLICT (owner) DO UPDATE SET url = excluded.url, seen = excluded.seen, load = excluded.load
          RETURNING ${sql.literal(databaseTime)}`,
      remove: sql`DELETE FROM cluster_member WHERE owner = ${id}`
    }
  })

/**
 * Makes what logs why the table could not be used, and not for each look: what is stored there is stored again soon, and what
 * is read is read again.
 */
export const makeLogged = Effect.map(
  makeRepeatedLog,
  ({ failed, worked }) => <A>(effect: Effect.Effect<A, SqlError>, otherwise: A): Effect.Effect<A> =>
    Effect.catchAll(
      Effect.zipLeft(effect, worked),
      ({ message }) => Effect.as(failed("The table of servers could not be used", message), otherwise)
    )
)
