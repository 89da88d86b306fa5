/** Records which trees a runner took up from another one, and after how long. */
import * as SqlClient from "@effect/sql/SqlClient"
import { countTakeover } from "@skein/core/Metrics"
import type { SessionID } from "@skein/domain/Id"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { since } from "./entries.ts"

/** A tree that nobody works in, before it is taken up. */
export interface Lost {
  readonly rootID: SessionID
  /** Where it was; undefined if its runner left. */
  readonly from: string | undefined
  /** Since when its runner was not seen; if it left, since when it was found free. Milliseconds since 1970. */
  readonly since: number
}

/** For how long they are kept, and how often older ones are removed, in milliseconds. */
const kept = "1 hour"
const cleaningPace = 60_000

const last = `SELECT member.url, ${since("member.seen")} AS silence
  FROM session JOIN cluster_member AS member ON member.owner = session.owner WHERE session.id = $1`

/** Makes what records the takeovers of the runner at this address. */
export const makeTakeovers = (url: string) =>
  Effect.map(SqlClient.SqlClient, (sql) => {
    let cleaned = Number.NEGATIVE_INFINITY
    return {
      /** To be called before a tree is taken up that was free since `free`. */
      lost: (rootID: SessionID, free: number): Effect.Effect<Lost> =>
        Effect.zipWith(
          Clock.currentTimeMillis,
          sql.unsafe<{ readonly url: string; readonly silence: number }>(last, [rootID]),
          (now, [row]) => ({ rootID, from: row?.url, since: row === undefined ? free : now - row.silence })
        ).pipe(
          Effect.catchAll(({ message }) =>
            Effect.as(Effect.logWarning("The last server of a session could not be read", message), {
              rootID,
              from: undefined,
              since: free
            })
          )
        ),
      /** To be called once it is at work again. */
      taken: ({ from, rootID, since: lostSince }: Lost): Effect.Effect<void> =>
        Effect.gen(function*() {
          const now = yield* Clock.currentTimeMillis
          const took = Math.max(0, now - lostSince)
          countTakeover(took)
          yield* sql`INSERT INTO cluster_takeover (root_id, from_url, to_url, at, took)
          VALUES (${rootID}, ${from ?? null}, ${url}, clock_timestamp(), ${took})`
          if (now - cleaned < cleaningPace) return
          cleaned = now
          yield* sql.unsafe(`DELETE FROM cluster_takeover WHERE at < clock_timestamp() - interval '${kept}'`)
        }).pipe(
          Effect.catchAll(({ message }) => Effect.logWarning("A takeover could not be recorded", message))
        )
    }
  })

/** What records takeovers. */
export type Takeovers = Effect.Effect.Success<ReturnType<typeof makeTakeovers>>
