/** Knows where a tree was that nobody holds, and why it is no longer there. */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { addressOf, Owner } from "@skein/core/Owner"
import type { SessionID } from "@skein/domain/Id"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { since } from "./entries.ts"

/** Why a tree is taken up: its runner died or hangs, it ended as planned, or it moved the tree because agents waited. */
type Why = "died" | "left" | "moved"

/** A tree that nobody works in, before it is taken up. */
export interface Lost {
  readonly rootID: SessionID
  readonly why: Why
  /** Where it was; undefined if that is not known. */
  readonly from: string | undefined
  /** Since when its runner was not seen; if it did not die, since when the tree was found free. Milliseconds since 1970. */
  readonly since: number
  /** Whether this process had it: before the storage was away, or before the tree was to move to a runner that did not take it. */
  readonly isOwn?: true
}

/** For how long a note counts. */
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
export const makeNotes = (url: string) =>
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
export const makeLost = (url: string) =>
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
