/** The servers of a database as its table has them: each writes its own entry, watches those of others, and removes dead ones. */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { setServers } from "@skein/core/Metrics"
import { elapsed, now as currentTime } from "@skein/core/MonotonicClock"
import { hostOf, Owner, pidOf } from "@skein/core/Owner"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { inTransaction } from "./database.ts"

/** How often it is logged again while it lasts, in milliseconds. */
const repetition = 30_000

/** One kind of failure. */
interface RepeatedLog {
  /** It has failed: logs that, or counts it. */
  readonly failed: (text: string, detail: string) => Effect.Effect<void>
  /** It has worked: the next failure is logged at once. */
  readonly worked: Effect.Effect<void>
}

/** Makes the log of one kind of failure. */
export const makeRepeatedLog: Effect.Effect<RepeatedLog> = Effect.map(Effect.clock, (clock) => {
  let logged: number | undefined
  let count = 0
  return {
    failed: (text, detail) =>
      Effect.suspend(() => {
        const now = elapsed(clock)
        count++
        if (logged !== undefined && now - logged < repetition) return Effect.void
        const often = logged === undefined ? "" : ` (${count} times since this was last logged)`
        logged = now
        count = 0
        return Effect.logWarning(`${text}${often}`, detail)
      }),
    worked: Effect.sync(() => {
      logged = undefined
      count = 0
    })
  }
})

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
 * Makes what stores where a server is, once it listens. One after another: what began before that must not write over where it
 * listens.
 */
export const makeStay = <A, E, R>(put: (at: string) => Effect.Effect<A, E, R>) => {
  // Until it listens: others parse it.
  let at = "http://127.0.0.1:0"
  const oneAtATime = Effect.unsafeMakeSemaphore(1).withPermits(1)
  const stay = oneAtATime(Effect.suspend(() => put(at)))
  return {
    stay,
    listens: (url: string): Effect.Effect<A, E, R> =>
      Effect.suspend(() => {
        at = url
        return stay
      })
  }
}

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

/** How often each server cleans, besides when it starts. */
const pace = "6 hours"

/**
 * For how long rows are kept that nobody renews. All readers have ignored them for long by then, and a server that was frozen
 * makes its rows again. Longer than clocks of sessions may differ: the engine stores times without their zone.
 */
const kept = "2 days"

const unseen = (column: string, now = "clock_timestamp()"): string => `${column} < ${now} - interval '${kept}'`

/** The tables, and which of their rows nobody needs. */
const leftovers: ReadonlyArray<readonly [table: string, condition: string]> = [
  ["cluster_member", unseen("seen")],
  ["cluster_share", unseen("seen")],
  ["cluster_pause", unseen("until")],
  ["cluster_waiting", unseen("seen")],
  ["cluster_takeover", unseen("at")],
  ["cluster_left", unseen("at")],
  ["cluster_failure", unseen("next_try")],
  // The engine's: a server at its address makes its row again.
  ["cluster_runners", unseen("last_heartbeat", "LOCALTIMESTAMP")],
  // What proves that hosts share a directory is needed while there is a session in it.
  [
    "cluster_directory",
    "NOT EXISTS (SELECT FROM session WHERE session.directory = cluster_directory.directory)"
  ]
]

/** A row that is stored meanwhile, such as the proof of a new session, is not judged by what was there before. */
const deleteFrom = (sql: SqlClient.SqlClient, table: string, condition: string) =>
  Effect.gen(function*() {
    const [row] = yield* sql<{ readonly found: boolean }>`SELECT to_regclass(${table}) IS NOT NULL AS found`
    if (row?.found !== true) return
    yield* inTransaction(sql)(Effect.gen(function*() {
      yield* sql.unsafe(`LOCK TABLE ${table} IN EXCLUSIVE MODE`)
      yield* sql.unsafe(`DELETE FROM ${table} WHERE ${condition}`)
    }))
  })

/** Cleans the tables that exist now, and then from time to time, until the scope closes. */
export const keepClean = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const logged = yield* makeLogged
  const clean = Effect.forEach(leftovers, ([table, condition]) => deleteFrom(sql, table, condition), { discard: true })
  yield* Effect.forkScoped(Effect.repeat(logged(clean, undefined), Schedule.spaced(pace)))
})

/** What one is known as: `silent` was not seen for some seconds, `dead` is one whose process has certainly ended. */
type State = "alive" | "silent" | "dead"

/** A server and its state. */
interface Seen extends Pick<Member, "owner" | "url" | "silence"> {
  readonly state: State
}

/** A line of the log. */
interface Line {
  readonly isWarning: boolean
  readonly text: string
}

/**
 * For how long after a time without the database nobody is called silent, in milliseconds: the others could not say that they
 * are there either.
 */
const grace = 10_000

const inSeconds = (milliseconds: number): string => `${Math.round(milliseconds / 1_000)} s`

const processOf = (owner: string): string => `process ${pidOf(owner) ?? "?"} on the host ${hostOf(owner) ?? "?"}`

const news = (text: string): ReadonlyArray<Line> => [{ isWarning: false, text }]
const warning = (text: string): ReadonlyArray<Line> => [{ isWarning: true, text }]

const changeOf = (before: Seen | undefined, { owner, silence, state, url }: Seen): ReadonlyArray<Line> => {
  if (state === before?.state) return []
  if (state === "dead") {
    return warning(`The server ${url} is dead: its ${processOf(owner)} has ended. The others continue its trees.`)
  }
  if (state === "silent") {
    return warning(
      `The server ${url} is silent: it was last seen ${inSeconds(silence)} ago. The others continue its trees.`
    )
  }
  if (before === undefined) return news(`The server ${url} has joined the cluster (${processOf(owner)}).`)
  return news(`The server ${url} is back.`)
}

/** What is new since the look before. */
const changes = (before: ReadonlyMap<string, Seen>, now: ReadonlyMap<string, Seen>): ReadonlyArray<Line> => [
  ...[...now].flatMap(([owner, seen]) => changeOf(before.get(owner), seen)),
  ...[...before].flatMap(([owner, { state, url }]) => {
    if (now.has(owner) || state === "dead") return []
    return state === "alive"
      ? news(`The server ${url} has left the cluster.`)
      : warning(`The server ${url} has not been seen for a minute, and is no longer listed.`)
  })
]

/** Who else is there, for the server at this address, when it starts. */
const firstText = (url: string, others: ReadonlyMap<string, Seen>): string => {
  const alive = [...others.values()].flatMap((other) => other.state === "alive" ? [other.url] : [])
  return `${url} has joined the cluster. ${
    alive.length === 0 ? "No other server is in it." : `Other servers in it: ${alive.toSorted().join(", ")}.`
  }`
}

/** Makes a look at the servers; `read` gives nothing while the database is out of reach. */
export const makeWatchServers = (url: string, read: Effect.Effect<ReadonlyArray<Member> | undefined>) =>
  Effect.map(Owner, (owner) => {
    let before: ReadonlyMap<string, Seen> | undefined
    let unread = Number.NEGATIVE_INFINITY

    const stateOf = (member: Member) =>
      Effect.map(owner.isGone(member.owner), (isGone): State => isGone ? "dead" : isSilent(member) ? "silent" : "alive")

    return Effect.gen(function*() {
      const now = yield* currentTime
      const members = yield* read
      if (members === undefined) {
        unread = now
        return
      }
      const seen = yield* Effect.forEach(
        members,
        (member): Effect.Effect<Seen> =>
          Effect.map(stateOf(member), (state) => ({
            owner: member.owner,
            url: member.url,
            silence: member.silence,
            state: state === "silent" && now - unread < grace ? before?.get(member.owner)?.state ?? "alive" : state
          }))
      )
      for (const state of ["alive", "silent", "dead"] as const) {
        setServers(state, seen.filter((each) => each.state === state).length)
      }
      const others = new Map(seen.flatMap((each) => each.owner === owner.id ? [] : [[each.owner, each] as const]))
      if (before === undefined) yield* Effect.logInfo(firstText(url, others))
      for (const { isWarning, text } of before === undefined ? [] : changes(before, others)) {
        yield* isWarning ? Effect.logWarning(text) : Effect.logInfo(text)
      }
      before = others
    })
  })
