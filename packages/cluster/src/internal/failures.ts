/** Owns which trees cannot be continued, for all runners. Each is left alone for longer and longer: tries cost others time. */
import * as SqlClient from "@effect/sql/SqlClient"
import { elapsed } from "@skein/core/MonotonicClock"
import { SessionStorage } from "@skein/core/SessionStorage"
import { isOutage, StorageError } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import { makeRepeatedLog } from "./entries.ts"

/** A tree that is free again within this time has failed, in milliseconds. After that, it has worked in between. */
const trial = 30_000

/** For how long a tree is left alone at most, in seconds. */
const longest = 300

/** After how long a failure counts as the first again, in seconds: by then it has worked in between. */
const forgotten = 600

/** The table. */
export const failureTable = `CREATE TABLE IF NOT EXISTS cluster_failure (
  root_id TEXT PRIMARY KEY, failures INTEGER NOT NULL, url TEXT NOT NULL, cause TEXT NOT NULL,
  next_try TIMESTAMPTZ NOT NULL
)`

/** Whether an error says that the storage is away: that is no fault of the tree. */
export const isOut = (error: unknown): boolean => error instanceof StorageError && isOutage(error)

/**
 * Before a tree is tried again that has failed: only one runner gets it, and the others leave it alone from then on, also before
 * it is known how that ends.
 */
const claim = `WITH claimed AS (
    UPDATE cluster_failure SET
      failures = CASE WHEN next_try < clock_timestamp() - interval '${forgotten} seconds' THEN 0 ELSE failures END,
      next_try = clock_timestamp() + interval '1 second' * least(${longest}, power(2, least(failures, 20)))
    WHERE root_id = $1 AND next_try <= clock_timestamp() RETURNING root_id
  ) SELECT EXISTS (SELECT FROM claimed) OR NOT EXISTS (SELECT FROM cluster_failure WHERE root_id = $1) AS mine`

interface FailureRow {
  readonly root_id: SessionID
  readonly cause: string
  readonly rests: boolean
  readonly stuck: boolean
}

/** One that was tried, and is not tried again, works. */
const listing = `SELECT failure.root_id, cause, next_try > clock_timestamp() AS rests,
    failures > 0 AND (owner IS NULL OR lease_until <= extract(epoch FROM clock_timestamp()) * 1000) AS stuck
  FROM cluster_failure AS failure JOIN session ON session.id = failure.root_id
  WHERE next_try > clock_timestamp() - interval '10 seconds'`

/**
 * Runners that lack a model of a tree say so until one that has it takes the tree up, which may be at once. The one that was
 * first says it for all.
 */
const lacking = `INSERT INTO cluster_failure AS known (root_id, failures, url, cause, next_try)
  SELECT root_id, 1, $1, cause, clock_timestamp() FROM unnest($2::text[], $3::text[]) AS missing (root_id, cause)
  ON CONFLICT (root_id) DO UPDATE SET next_try = excluded.next_try, failures = greatest(1, known.failures),
    url = CASE WHEN known.next_try < clock_timestamp() - interval '10 seconds' THEN excluded.url ELSE known.url END,
    cause = CASE WHEN known.next_try < clock_timestamp() - interval '10 seconds' OR known.url = excluded.url
      THEN excluded.cause ELSE known.cause END
  WHERE known.next_try <= clock_timestamp()`

/** The trees that cannot be continued. */
export interface Resting {
  /** Those to leave alone for now. */
  readonly now: ReadonlySet<SessionID>
  /** All of them in which nobody works, with the causes. */
  readonly stuck: ReadonlyMap<SessionID, string>
}

/** How much of a cause is kept, in characters. */
const told = 500

const storable = (cause: string): string => cause.slice(0, told).toWellFormed()

/** Says why nothing more comes of a tree that was taken up: what of it cannot be read. */
const unreadableOf = (rootID: SessionID) =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const found = yield* Effect.all([storage.sessions({ rootID }), storage.runs({ rootID }), storage.inbox(rootID)])
    return found.flatMap(({ unreadable }) => unreadable)[0]
  }).pipe(
    Effect.map((row) =>
      row === undefined
        ? "its work ended before it was done, which the log of the server explains"
        : `${row.id} cannot be read (${row.reason})`
    ),
    Effect.catchAll(({ message }) => Effect.succeed(message))
  )

/**
 * Makes what reads which trees rest. It forgets a tree that has nothing unfinished any more, because it was stopped for
 * example.
 */
const makeResting = (repeated: Effect.Effect.Success<typeof makeRepeatedLog>) =>
  Effect.map(SqlClient.SqlClient, (sql) => {
    /** The trees in the table, as of the last look. */
    let listed: ReadonlyArray<FailureRow> = []

    const read = sql.unsafe<FailureRow>(listing).pipe(
      Effect.zipLeft(repeated.worked),
      Effect.catchAll(({ message }) =>
        Effect.as(repeated.failed("The table of trees that cannot be continued could not be read", message), [])
      )
    )

    const forget = (gone: ReadonlyArray<string>) =>
      gone.length === 0 ? Effect.void : Effect.catchAll(
        sql.unsafe("DELETE FROM cluster_failure WHERE root_id = ANY($1)", [gone]),
        ({ message }) => repeated.failed("Trees that were stopped are still listed as failing", message)
      )

    return (hasFree: boolean, unfinished: ReadonlyArray<string>): Effect.Effect<Resting> =>
      Effect.suspend(() =>
        hasFree || listed.length > 0
          ? Effect.tap(read, (found) => {
            listed = found
            return forget(found.flatMap(({ root_id }) => unfinished.includes(root_id) ? [] : [root_id]))
          })
          : Effect.succeed(listed)
      ).pipe(Effect.map((found) => ({
        now: new Set(found.flatMap(({ rests, root_id }) => rests ? [root_id] : [])),
        stuck: new Map(
          found.flatMap(({ cause, root_id, stuck }) => stuck && unfinished.includes(root_id) ? [[root_id, cause]] : [])
        )
      })))
  })

/** Makes what the runner at this address knows of failures. */
export const makeFailures = (url: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const storage = yield* SessionStorage
    const repeated = yield* makeRepeatedLog
    const clock = yield* Effect.clock
    /** When this runner took up which trees. */
    const taken = new Map<SessionID, number>()

    /** Notes that this runner took a tree up, and that it is as unfinished as before. Finds the cause if none is given. */
    const failed = (rootID: SessionID, cause?: string): Effect.Effect<void> =>
      Effect.gen(function*() {
        const why = cause ?? (yield* Effect.provideService(unreadableOf(rootID), SessionStorage, storage))
        const [row] = yield* sql.unsafe<{ readonly failures: number }>(
          `INSERT INTO cluster_failure AS known (root_id, failures, url, cause, next_try)
              VALUES ($1, 1, $2, $3, clock_timestamp() + interval '1 second')
              ON CONFLICT (root_id) DO UPDATE SET url = excluded.url, cause = excluded.cause,
                failures = CASE WHEN known.next_try < clock_timestamp() - interval '${forgotten} seconds'
                  THEN 1 ELSE known.failures + 1 END,
                next_try = clock_timestamp() + interval '1 second' *
                  CASE WHEN known.next_try < clock_timestamp() - interval '${forgotten} seconds'
                  THEN 1 ELSE least(${longest}, power(2, least(known.failures, 20))) END
              RETURNING failures`,
          [rootID, url, storable(why)]
        )
        if (row?.failures === 1) {
          yield* Effect.logError(
            `${rootID} cannot be continued: ${why}. It is tried again from time to time; \`skein cluster status\` lists it.`
          )
        }
      }).pipe(
        Effect.catchAll(({ message }) =>
          repeated.failed(`That ${rootID} cannot be continued could not be stored`, message)
        )
      )

    /** A tree that is free, although this runner has just taken it up, is as unfinished as before. */
    const noteFailed = (free: ReadonlyArray<SessionID>) =>
      Effect.suspend(() => {
        const now = elapsed(clock)
        for (const [rootID, at] of taken) if (now - at > trial) taken.delete(rootID)
        return Effect.forEach(free.filter((rootID) => taken.delete(rootID)), (rootID) => failed(rootID))
      })

    const resting = yield* makeResting(repeated)

    const claimed = (rootID: SessionID) =>
      sql.unsafe<{ readonly mine: boolean }>(claim, [rootID]).pipe(
        Effect.map(([row]) => row?.mine !== false),
        Effect.catchAll(({ message }) =>
          Effect.as(repeated.failed(`Whether ${rootID} can be continued could not be read`, message), true)
        )
      )

    return {
      /** Notes that these trees cannot be continued here, with the causes. */
      lack: (causes: ReadonlyMap<SessionID, string>): Effect.Effect<void> =>
        causes.size === 0 ? Effect.void : Effect.catchAll(
          Effect.asVoid(sql.unsafe(lacking, [url, [...causes.keys()], [...causes.values()].map(storable)])),
          ({ message }) => repeated.failed("That trees cannot be continued here could not be stored", message)
        ),
      /** Which trees cannot be continued, these free ones among them; forgets those that are not unfinished. */
      resting: (
        free: ReadonlyArray<SessionID>,
        unfinished: ReadonlyArray<SessionID>
      ): Effect.Effect<Resting> => Effect.zipRight(noteFailed(free), resting(free.length > 0, unfinished)),
      /** Takes a tree up, and notes if that fails, now or soon after. */
      watch: <E extends { readonly message: string }, R>(rootID: SessionID, takeUp: Effect.Effect<boolean, E, R>) =>
        Effect.if(claimed(rootID), { onTrue: () => takeUp, onFalse: () => Effect.succeed(false) }).pipe(
          Effect.map((isTaken) => isTaken ? void taken.set(rootID, elapsed(clock)) : undefined),
          Effect.tapError((error) => isOut(error) ? Effect.void : failed(rootID, error.message)),
          Effect.catchAllDefect((defect) => failed(rootID, String(defect)))
        )
    }
  })

/** What a runner knows of failures. */
export type Failures = Effect.Effect.Success<ReturnType<typeof makeFailures>>
