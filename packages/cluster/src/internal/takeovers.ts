/** Records which trees a runner took up from another one, and after how long. */
import * as SqlClient from "@effect/sql/SqlClient"
import { Leases } from "@skein/core/Leases"
import { countTakeover } from "@skein/core/Metrics"
import { addressOf } from "@skein/core/Owner"
import type { SessionID } from "@skein/domain/Id"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import { since } from "./entries.ts"

/** A tree that nobody works in, before it is taken up. */
export interface Lost {
  readonly rootID: SessionID
  /** Where it was; undefined if its runner left. */
  readonly from: string | undefined
  /** Since when its runner was not seen; if it left, since when it was found free. Milliseconds since 1970. */
  readonly since: number
}

/** The trees that nobody holds, and since when, in milliseconds since 1970. */
type Free = ReadonlyMap<SessionID, { readonly since: number }>

/** For how long they are kept, and how often older ones are removed, in milliseconds. */
const kept = "1 hour"
const cleaningPace = 60_000

const last = `SELECT member.url, ${since("member.seen")} AS silence
  FROM session JOIN cluster_member AS member ON member.owner = session.owner WHERE session.id = $1`

const lastOf = `SELECT url, ${since("seen")} AS silence FROM cluster_member WHERE owner = $1`

interface LastRow {
  readonly url: string
  readonly silence: number
}

/** Where a tree came from, for the log. */
const fromText = (from: string | undefined, url: string, took: number): string => {
  if (from === undefined) return "the server before left it"
  return from === url
    ? "it worked at this server before"
    : `it worked at ${from}, which was last seen ${(took / 1_000).toFixed(1)} s before`
}

/** Makes what records the takeovers of the runner at this address. */
export const makeTakeovers = (url: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const leases = yield* Leases
    const run = yield* FiberSet.makeRuntime<never>()
    let cleaned = Number.NEGATIVE_INFINITY
    let waiting: Free = new Map()
    /** The trees that are taken up with the functions below. */
    const begun = new Set<SessionID>()

    const unreadable = (rootID: SessionID, free: number) => ({ message }: { readonly message: string }) =>
      Effect.as(Effect.logWarning("The last server of a session could not be read", message), {
        rootID,
        from: undefined,
        since: free
      })

    const lost = (rootID: SessionID, free: number): Effect.Effect<Lost> =>
      Effect.zipWith(
        Clock.currentTimeMillis,
        sql.unsafe<LastRow>(last, [rootID]),
        (now, [row]) => ({ rootID, from: row?.url, since: row === undefined ? free : now - row.silence })
      ).pipe(Effect.catchAll(unreadable(rootID, free)))

    const taken = ({ from, rootID, since: lostSince }: Lost): Effect.Effect<void> =>
      Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const took = Math.max(0, now - lostSince)
        countTakeover(took)
        yield* Effect.logInfo(`${rootID} was taken up: ${fromText(from, url, took)}`)
        yield* sql`INSERT INTO cluster_takeover (root_id, from_url, to_url, at, took)
          VALUES (${rootID}, ${from ?? null}, ${url}, clock_timestamp(), ${took})`
        if (now - cleaned < cleaningPace) return
        cleaned = now
        yield* sql.unsafe(`DELETE FROM cluster_takeover WHERE at < clock_timestamp() - interval '${kept}'`)
      }).pipe(
        Effect.catchAll(({ message }) => Effect.logWarning("A takeover could not be recorded", message))
      )

    /** A request of a client took a tree up, before the look for such trees did. */
    const takenByRequest = (rootID: SessionID, owner: string | undefined) =>
      Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const found = waiting.get(rootID)?.since ?? now
        if (owner === undefined) return yield* taken({ rootID, from: undefined, since: found })
        const before = yield* Effect.map(
          sql.unsafe<LastRow>(lastOf, [owner]),
          ([row]) => ({
            rootID,
            from: row?.url ?? addressOf(owner),
            since: row === undefined ? found : now - row.silence
          })
        ).pipe(Effect.catchAll(unreadable(rootID, found)))
        yield* taken(before)
      })

    leases.onTakenOver((rootID, owner) => begun.has(rootID) ? undefined : void run(takenByRequest(rootID, owner)))

    return {
      /** To be called before a tree is taken up that was free since `free`. */
      lost,
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
export type Takeovers = Effect.Effect.Success<ReturnType<typeof makeTakeovers>>
