/** Records which trees a runner took up from another one, why, and after how long; knows where a free tree was before. */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Leases } from "@skein/core/Leases"
import { countTakeover } from "@skein/core/Metrics"
import { addressOf, Owner } from "@skein/core/Owner"
import { Session } from "@skein/core/Session"
import { isOutage, type StorageError } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Option from "effect/Option"
import { since } from "./entries.ts"

/** Why a tree is taken up: its runner died or hangs, it ended as planned, or it moved the tree because agents waited. */
type Why = "died" | "left" | "moved"

/** A tree that nobody works in, before it is taken up. */
interface Lost {
  readonly rootID: SessionID
  readonly why: Why
  /** Where it was; undefined if that is not known. */
  readonly from: string | undefined
  /** Since when its runner was not seen; if it did not die, since when the tree was found free. Milliseconds since 1970. */
  readonly since: number
  /** Whether this process had it: before the storage was away, or before the tree was to move to a runner that did not take it. */
  readonly isOwn?: true
}

/** For how long a note counts, and a takeover is kept. */
const kept = "1 hour"

/** The table. Where a tree was that has no owner any more is noted before it is released. */
export const leftTable = `CREATE TABLE IF NOT EXISTS cluster_left (
  root_id TEXT PRIMARY KEY, url TEXT NOT NULL, why TEXT NOT NULL, at TIMESTAMPTZ NOT NULL
)`

/** The last owner of a tree, or, if it was released, who noted that. */
const last = `SELECT session.owner, member.url, ${since("member.seen")} AS silence, note.url AS left_url, note.why,
    ${since("note.at")} AS away
  FROM session LEFT JOIN cluster_member AS member ON member.owner = session.owner
  LEFT JOIN cluster_left AS note ON note.root_id = session.id AND note.at > clock_timestamp() - interval '${kept}'
  WHERE session.id = $1`

interface LastRow {
  readonly owner: string | null
  readonly url: string | null
  readonly silence: number
  readonly left_url: string | null
  readonly why: Why | null
  readonly away: number
}

const lastOf = `SELECT url, ${since("seen")} AS silence FROM cluster_member WHERE owner = $1`

const noteOne = `INSERT INTO cluster_left (root_id, url, why, at)
  VALUES ($1, $2, $3, clock_timestamp() - $4::double precision * interval '1 millisecond')
  ON CONFLICT (root_id) DO UPDATE SET url = excluded.url, why = excluded.why, at = excluded.at`

const noteAll = `INSERT INTO cluster_left (root_id, url, why, at)
  SELECT id, $2, 'left', clock_timestamp() FROM session WHERE owner = $1
  ON CONFLICT (root_id) DO UPDATE SET url = excluded.url, why = excluded.why, at = excluded.at`

/** Where a tree was whose runner died. */
const ofDead = (
  rootID: SessionID,
  owner: string,
  seen: { readonly url: string; readonly since: number } | undefined,
  free: number,
  own: string
): Lost => ({
  rootID,
  why: "died",
  from: seen?.url ?? addressOf(owner),
  since: seen?.since ?? free,
  ...(owner === own ? { isOwn: true } : {})
})

/** The same of one that has no owner any more. */
const ofReleased = (rootID: SessionID, row: LastRow | undefined, free: number, now: number, url: string): Lost =>
  row === undefined || row.left_url === null || row.why === null
    ? { rootID, why: "left", from: undefined, since: free }
    : {
      rootID,
      why: row.why,
      from: row.left_url,
      since: row.why === "died" ? now - row.away : free,
      ...(row.why === "moved" && row.left_url === url ? { isOwn: true } : {})
    }

/** Makes the notes about trees that this runner releases, or moves here from a host that is gone. */
const makeNotes = (url: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const { id: own } = yield* Owner
    const logged = Effect.catchAll(({ message }: { readonly message: string }) =>
      Effect.logWarning("Where trees were could not be noted", message)
    )
    return {
      /** This runner ends, and leaves all its trees. To be called before. */
      leaves: logged(Effect.asVoid(sql.unsafe(noteAll, [own, url]))),
      /** A tree moves from here to another runner. To be called before. */
      moves: (rootID: SessionID) => logged(Effect.asVoid(sql.unsafe(noteOne, [rootID, url, "moved", 0]))),
      /** A tree gets other files, and its last owner is forgotten with that. To be called before. */
      brings: (rootID: SessionID) =>
        logged(Effect.gen(function*() {
          const [row] = yield* sql.unsafe<LastRow>(last, [rootID])
          if (row?.owner === null || row?.owner === undefined || row.owner === own) return
          const from = row.url ?? addressOf(row.owner)
          if (from !== undefined) yield* sql.unsafe(noteOne, [rootID, from, "died", row.silence ?? 0])
        }))
    }
  })

/** Makes what says where trees were, for the runner at this address. `free` is since when a tree was found free. */
const makeLost = (url: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const { id: own } = yield* Owner
    const readable = (rootID: SessionID, free: number, reading: Effect.Effect<Lost, SqlError>): Effect.Effect<Lost> =>
      Effect.catchAll(reading, ({ message }) =>
        Effect.as(
          Effect.logWarning("The last server of a session could not be read", message),
          ofReleased(rootID, undefined, free, free, url)
        ))

    /** `isReleased` if its owner is this process by now, and nobody before. */
    const lost = (rootID: SessionID, free: number, isReleased = false): Effect.Effect<Lost> =>
      readable(
        rootID,
        free,
        Effect.zipWith(sql.unsafe<LastRow>(last, [rootID]), Clock.currentTimeMillis, ([row], now) => {
          if (isReleased || row === undefined || row.owner === null) return ofReleased(rootID, row, free, now, url)
          const seen = row.url === null ? undefined : { url: row.url, since: now - row.silence }
          return ofDead(rootID, row.owner, seen, free, own)
        })
      )

    const lostBy = (rootID: SessionID, free: number, owner: string): Effect.Effect<Lost> =>
      readable(
        rootID,
        free,
        Effect.zipWith(
          sql.unsafe<{ readonly url: string; readonly silence: number }>(lastOf, [owner]),
          Clock.currentTimeMillis,
          ([row], now) => {
            const seen = row === undefined ? undefined : { url: row.url, since: now - row.silence }
            return ofDead(rootID, owner, seen, free, own)
          }
        )
      )
    return { lost, lostBy }
  })

/** The trees that nobody holds, and since when, in milliseconds since 1970. */
type Free = ReadonlyMap<SessionID, { readonly since: number }>

/** How often older ones are removed, in milliseconds. */
const cleaningPace = 60_000

/** The table. */
export const takeoverTables = [
  `CREATE TABLE IF NOT EXISTS cluster_takeover (
    root_id TEXT NOT NULL, from_url TEXT, to_url TEXT NOT NULL, at TIMESTAMPTZ NOT NULL, took INTEGER NOT NULL, why TEXT
  )`,
  "ALTER TABLE cluster_takeover ADD COLUMN IF NOT EXISTS why TEXT",
  "CREATE INDEX IF NOT EXISTS cluster_takeover_at ON cluster_takeover (at)"
]

/** Why a tree continues here, for the log. */
const reason = ({ from = "the server before", isOwn, why }: Lost, url: string, took: number): string => {
  if (isOwn === true) {
    return why === "moved"
      ? "the server that it was to move to did not take it"
      : "it was here before the storage was away"
  }
  if (why === "moved") return `it moved from ${from}, where agents waited`
  if (why === "left") return `${from} left it when it ended`
  const seen = `It was last seen ${(took / 1_000).toFixed(1)} s before`
  return from === url
    ? `the server that had this URL before died. ${seen}`
    : `it was at ${from}, which died or hangs. ${seen}`
}

/** Makes what records the takeovers of the runner at this address. */
export const makeTakeovers = (url: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const leases = yield* Leases
    const run = yield* FiberSet.makeRuntime<never>()
    const { lost, lostBy } = yield* makeLost(url)
    let cleaned = Number.NEGATIVE_INFINITY
    let waiting: Free = new Map()
    /** The trees that are taken up with the functions below. */
    const begun = new Set<SessionID>()

    const clean = (now: number) =>
      Effect.suspend(() => {
        if (now - cleaned < cleaningPace) return Effect.void
        cleaned = now
        return Effect.forEach(
          ["cluster_takeover", "cluster_left"],
          (table) => sql.unsafe(`DELETE FROM ${table} WHERE at < clock_timestamp() - interval '${kept}'`)
        )
      })

    const taken = (before: Lost): Effect.Effect<void> =>
      Effect.gen(function*() {
        const { from, isOwn, rootID, why } = before
        const now = yield* Clock.currentTimeMillis
        const took = Math.max(0, now - before.since)
        yield* Effect.logInfo(`${rootID} continues here: ${reason(before, url, took)}.`)
        if (isOwn === true) return
        countTakeover(why, took)
        yield* sql`INSERT INTO cluster_takeover (root_id, from_url, to_url, at, took, why)
          VALUES (${rootID}, ${from ?? null}, ${url}, clock_timestamp(), ${took}, ${why})`
        yield* sql`DELETE FROM cluster_left WHERE root_id = ${rootID}`
        yield* clean(now)
      }).pipe(
        Effect.catchAll(({ message }) => Effect.logWarning("A takeover could not be recorded", message))
      )

    /** A request of a client took a tree up, before the look for such trees did. */
    const takenByRequest = (rootID: SessionID, owner: string | undefined) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const free = waiting.get(rootID)?.since ?? now
        return Effect.flatMap(owner === undefined ? lost(rootID, free, true) : lostBy(rootID, free, owner), taken)
      })

    leases.onTakenOver((rootID, owner) => begun.has(rootID) ? undefined : void run(takenByRequest(rootID, owner)))

    return {
      ...(yield* makeNotes(url)),
      /** To be called before a tree is taken up that was free since `free`. */
      lost: (rootID: SessionID, free: number): Effect.Effect<Lost> => lost(rootID, free),
      /** Takes one up that this runner claims or holds, and records it once it is at work again. */
      during: <A, E, R>(before: Lost, takingUp: Effect.Effect<A, E, R>): Effect.Effect<void, E, R> =>
        Effect.acquireUseRelease(
          Effect.sync(() => begun.add(before.rootID)),
          () => Effect.zipRight(takingUp, taken(before)),
          () => Effect.sync(() => begun.delete(before.rootID))
        ),
      /** Says which trees are free, and since when. */
      free: (trees: Free): void => {
        waiting = trees
      }
    }
  })

/** What records takeovers. */
type Takeovers = Effect.Effect.Success<ReturnType<typeof makeTakeovers>>

/**
 * Makes it. A tree that another process holds by now is left alone; `freeSince` says when it was found free. With `claim`, which
 * acquires it at once or says that it cannot, no other process is waited for. Returns whether it was taken up.
 */
export const makeTakeUp = (takeovers: Takeovers) =>
  Effect.map(Session, (session) =>
  (
    rootID: SessionID,
    freeSince: number,
    claim: Effect.Effect<boolean, StorageError> = Effect.succeed(true)
  ) => {
    const taken = Effect.flatMap(
      takeovers.lost(rootID, freeSince),
      (lost) => Effect.whenEffect(takeovers.during(lost, session.resume(rootID)), claim)
    )
    return taken.pipe(
      Effect.map(Option.isSome),
      Effect.catchIf((error) => error._tag === "StorageError" && error.reason === "held", () => Effect.succeed(false)),
      Effect.tapError((error) =>
        // That the storage is away is logged once, and not for each tree.
        error._tag === "StorageError" && isOutage(error)
          ? Effect.void
          : Effect.logWarning(`${rootID} could not be taken up`, error.message)
      )
    )
  })

/** What takes trees up. */
export type TakeUp = Effect.Effect.Success<ReturnType<typeof makeTakeUp>>
