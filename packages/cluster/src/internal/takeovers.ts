/** Records which trees a runner took up from another one, why, and after how long. */
import * as SqlClient from "@effect/sql/SqlClient"
import { Leases } from "@skein/core/Leases"
import { countTakeover } from "@skein/core/Metrics"
import { Session } from "@skein/core/Session"
import { isOutage, type StorageError } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Option from "effect/Option"
import { type Lost, makeLost, makeNotes } from "./lastServers.ts"

/** The trees that nobody holds, and since when, in milliseconds since 1970. */
type Free = ReadonlyMap<SessionID, { readonly since: number }>

/** For how long they are kept, and how often older ones are removed, in milliseconds. */
const kept = "1 hour"
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
 * Makes it. A tree that another process holds by now is left alone; `since` says when it was found free. With `claim`, which
 * acquires it at once or says that it cannot, no other process is waited for. Returns whether it was taken up.
 */
export const makeTakeUp = (takeovers: Takeovers) =>
  Effect.map(Session, (session) =>
  (
    rootID: SessionID,
    since: number,
    claim: Effect.Effect<boolean, StorageError> = Effect.succeed(true)
  ) => {
    const taken = Effect.flatMap(
      takeovers.lost(rootID, since),
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
