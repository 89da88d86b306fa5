/**
 * Divides the limits on requests among the runners. A runner sends no more than its share, which is stored, and adds up to
 * no more than the limit. It lapses unless it is renewed, so a runner that died leaves nothing taken.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Governor } from "@skein/core/Governor"
import { steady } from "@skein/core/MonotonicClock"
import { Owner } from "@skein/core/Owner"
import type { Demand, SharedGate } from "@skein/core/RequestGate"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { causeText, type Within } from "./database.ts"
import { makeRepeatedLog } from "./entries.ts"

/** What a runner wants of a limit. */
type Wish = Omit<Demand, "limit">

/** From this many places for each runner on, one is kept for each of those that want none, so that it need not wait. */
const roomy = 4

/**
 * Divides a limit; no share is larger than needed, unless something is left over. Who gets what cannot be divided changes
 * with `turn`, a number that counts up.
 */
export const divide = (limit: number, wishes: ReadonlyArray<Wish>, turn: number): ReadonlyArray<number> => {
  const least = limit >= roomy * wishes.length ? 1 : 0
  const wanted = wishes.map(({ held, waiting }) => held + waiting)
  const shares = wanted.map((each): number => each === 0 ? least : 0)
  let left = limit - shares.reduce((sum, each) => sum + each, 0)
  const give = (at: number, count: number) => {
    shares[at] = (shares[at] ?? 0) + count
    left -= count
  }
  const missing = (at: number) => (wanted[at] ?? 0) - (shares[at] ?? 0)
  const all = wishes.map((_, at) => at)
  for (let open = all; left > 0; open = open.filter((at) => missing(at) > 0)) {
    // What nobody wants now is divided evenly: the next request has it at once.
    const some = open.filter((at) => missing(at) > 0)
    const isSpare = some.length === 0
    const takers = isSpare ? all : some
    const weightOf = (at: number) => isSpare ? 1 : Math.max(1, wishes[at]?.roots ?? 1)
    const weights = takers.reduce((sum, at) => sum + weightOf(at), 0)
    const round = left
    for (const at of takers) {
      const part = Math.floor(round * weightOf(at) / weights)
      give(at, isSpare ? part : Math.min(part, missing(at)))
    }
    // Less than one place for each: some of them get it, in turn.
    if (left === round || isSpare) {
      const first = turn % takers.length
      for (const at of [...takers.slice(first), ...takers.slice(0, first)]) if (left > 0) give(at, 1)
    }
  }
  return shares
}

/** For how long a share is stored, and for how long it is used at most, in milliseconds. */
const lifetime = 3_000
const usable = 2_000

/** How often limits are divided, at least and at most. */
const pace = "500 millis"
const pause = "100 millis"

/** How long what cannot be divided stays with the same runner, in milliseconds. */
const turnLength = 2_000

/** By how much longer a pause must be than the stored one to be stored, in milliseconds: reading and writing takes time. */
const tolerance = 250

/** All runners divide one after the other. */
const lock = "SELECT pg_advisory_xact_lock(5283041)"

/** The tables. */
export const shareTables = [
  `CREATE TABLE IF NOT EXISTS cluster_share (
    owner TEXT NOT NULL, key TEXT NOT NULL, held INTEGER NOT NULL, waiting INTEGER NOT NULL, roots INTEGER NOT NULL,
    share INTEGER NOT NULL, seen TIMESTAMPTZ NOT NULL, PRIMARY KEY (owner, key)
  )`,
  "CREATE TABLE IF NOT EXISTS cluster_pause (key TEXT PRIMARY KEY, until TIMESTAMPTZ NOT NULL)"
]

interface ShareRow {
  readonly owner: string
  readonly held: number
  readonly waiting: number
  readonly roots: number
  readonly share: number
}

const none = { held: 0, waiting: 0, roots: 0, share: 0 }

/** What the other runners want and have; those that have asked for nothing yet get something as well. */
const othersOf = Effect.fnUntraced(function*(gate: SharedGate) {
  const sql = yield* SqlClient.SqlClient
  const { id: owner, isGone } = yield* Owner
  const rows = yield* sql<ShareRow>`SELECT owner, held, waiting, roots, share FROM cluster_share
    WHERE key = ${gate.key} AND owner <> ${owner}
    AND seen > clock_timestamp() - ${lifetime}::double precision * interval '1 millisecond'`
  const members = yield* sql<{ readonly owner: string }>`SELECT owner FROM cluster_member WHERE owner <> ${owner}
    AND seen > clock_timestamp() - ${lifetime}::double precision * interval '1 millisecond'`
  const known = new Set(rows.map((row) => row.owner))
  const idle = members.filter((member) => !known.has(member.owner))
  const all = [...rows, ...idle.map((member) => ({ ...none, owner: member.owner }))]
  return yield* Effect.filter(all, (each) => Effect.negate(isGone(each.owner)))
})

/** Divides for this runner, until the scope closes. `within` runs the transactions, and ends those that take too long. */
export const makeShares = (governor: Pick<typeof Governor.Service, "share">, within: Within) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const context = yield* Effect.context<Owner | SqlClient.SqlClient>()
    const { id: owner } = yield* Owner
    const clock = yield* Effect.clock
    const gates: Array<SharedGate> = []
    const changed = yield* Effect.makeLatch(false)
    const log = yield* makeRepeatedLog

    const pauses = (gate: SharedGate) =>
      Effect.gen(function*() {
        const [row] = yield* sql<{ readonly rest: number }>`SELECT CAST(
          extract(epoch FROM until - clock_timestamp()) * 1000 AS DOUBLE PRECISION) AS rest
          FROM cluster_pause WHERE key = ${gate.key}`
        const rest = row?.rest ?? 0
        const own = gate.closedFor()
        if (rest > own) gate.hold(rest)
        if (own <= rest + tolerance) return
        yield* sql`INSERT INTO cluster_pause (key, until)
          VALUES (${gate.key}, clock_timestamp() + ${own}::double precision * interval '1 millisecond')
          ON CONFLICT (key) DO UPDATE SET until = greatest(cluster_pause.until, excluded.until)`
      })

    /** Stores the share of this runner, and returns what applies it once that is committed. */
    const divideOne = (gate: SharedGate, began: number) =>
      Effect.gen(function*() {
        yield* pauses(gate)
        const others = yield* Effect.provide(othersOf(gate), context)
        const turn = Math.floor(clock.unsafeCurrentTimeMillis() / turnLength)
        const { limit, ...own } = gate.demand()
        const all = [{ owner, ...own }, ...others].toSorted((a, b) => a.owner < b.owner ? -1 : 1)
        const fair = divide(limit, all, turn)[all.findIndex((each) => each.owner === owner)] ?? 0
        const free = limit - others.reduce((sum, { share }) => sum + share, 0)
        const share = Math.max(0, Math.min(fair, free))
        const left = () => usable - (steady(clock) - began)
        // Nothing may begin in the meantime beyond what is stored: a larger share counts once it is committed.
        gate.lend(Math.min(share, own.held), left())
        yield* sql`INSERT INTO cluster_share (owner, key, held, waiting, roots, share, seen)
          VALUES (${owner}, ${gate.key}, ${own.held}, ${own.waiting}, ${own.roots}, ${Math.max(share, own.held)},
            clock_timestamp())
          ON CONFLICT (owner, key) DO UPDATE SET held = excluded.held, waiting = excluded.waiting,
            roots = excluded.roots, share = excluded.share, seen = excluded.seen`
        return () => gate.lend(share, left())
      })

    const round = Effect.suspend(() => {
      if (gates.length === 0) return Effect.void
      const began = steady(clock)
      return within(
        Effect.zipRight(sql.unsafe(lock), Effect.forEach(gates, (gate) => divideOne(gate, began)))
      ).pipe(
        Effect.flatMap((apply) => {
          for (const each of apply) each()
          return log.worked
        }),
        // Whatever went wrong, the next round must come: without it, the shares of this runner lapse for ever.
        Effect.catchAllCause((cause) =>
          // While the server ends, that its connection is closed is no failure.
          Cause.isInterrupted(cause)
            ? Effect.void
            : log.failed("The limits on requests could not be divided among the servers", causeText(cause))
        )
      )
    })

    governor.share({ added: (gate) => void gates.push(gate), changed: () => void changed.unsafeOpen() })
    // After the last round, which would take them again.
    yield* Effect.addFinalizer(() =>
      Effect.catchAll(
        sql`DELETE FROM cluster_share WHERE owner = ${owner}`,
        ({ message }) => Effect.logWarning("The shares of this server could not be given back", message)
      )
    )
    const next = Effect.zipRight(Effect.timeoutOption(changed.await, pace), changed.close)
    yield* Effect.forkScoped(
      Effect.forever(Effect.zipRight(next, Effect.zipRight(round, Effect.sleep(pause))))
    )
  })
