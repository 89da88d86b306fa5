/** Forgets old events, a few at a time: between two transactions everything else has its turn. */
import type { Pruning, SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Connection, Dialect } from "./dialect.ts"
import { makeSelect, type Select } from "./select.ts"
import type { Value } from "./tables.ts"
import type { Turns } from "./turns.ts"
import { retryBusy } from "./writer.ts"

/** Events of one transaction: it bounds for how long the event loop stands still. */
const batch = 500

/**
 * The places of events that may go. The log is nearly in the order of time: looking ends at the first event that is not
 * old enough, and needs no index that every event would have to be put into.
 */
const candidates = `SELECT seq FROM event
  WHERE seq < coalesce((SELECT seq FROM event WHERE time >= ? ORDER BY seq LIMIT 1), 9223372036854775807)
  AND root_id NOT IN (
    SELECT root_id FROM session WHERE updated >= ?
    UNION SELECT root_id FROM run WHERE state <> 'settled'
    UNION SELECT session.root_id FROM part JOIN session ON session.id = part.session_id
      WHERE part.state IN ('pending', 'running')
  )`

const excessText = `DELETE FROM event WHERE seq IN (
  SELECT seq FROM event WHERE root_id = ? AND seq <= ? ORDER BY seq LIMIT ?
) RETURNING seq`

interface Excess {
  readonly root_id: string
}

/** Up to which place in the log a tree has more than it may. */
interface Border extends Excess {
  readonly until: number
}

const paramsOf = ({ before, restingSince }: Pruning): ReadonlyArray<Value> => [before, restingSince]

/** Makes the part of the port that forgets. */
export const makePrune = (
  connection: Connection,
  dialect: Dialect,
  turns: Turns,
  read: Select
): Context.Tag.Service<SessionStorage>["prune"] => {
  const select = makeSelect(connection, dialect)

  const count = (events: Pruning) =>
    Effect.map(
      read<{ readonly count: number }>(
        "prune",
        `SELECT count(*) AS count FROM (${candidates}) AS old`,
        paramsOf(events)
      ),
      ([row]) => Math.min(Number(row?.count ?? 0), events.limit ?? Number.POSITIVE_INFINITY)
    )

  const text = `DELETE FROM event WHERE seq IN (${candidates} ORDER BY seq LIMIT ?) RETURNING seq`

  const removeSome = (events: Pruning, most: number): Effect.Effect<number, StorageError> =>
    // A statement by itself is a transaction.
    retryBusy(turns.write(Effect.uninterruptible(select("prune", text, [...paramsOf(events), most])))).pipe(
      Effect.map((rows) => rows.length)
    )

  const remove = (events: Pruning, left: number, gone = 0): Effect.Effect<number, StorageError> => {
    const most = Math.min(batch, left)
    return Effect.flatMap(removeSome(events, most), (removed) =>
      removed < batch || removed === left
        ? Effect.succeed(gone + removed)
        : Effect.zipRight(Effect.sleep(0), remove(events, left - removed, gone + removed)))
  }

  const excessOf = (most: number) =>
    Effect.flatMap(
      read<Excess>("prune", "SELECT root_id FROM event GROUP BY root_id HAVING count(*) > ?", [most]),
      (roots) =>
        Effect.forEach(roots, ({ root_id }) =>
          Effect.map(
            read<{ readonly seq: number }>(
              "prune",
              "SELECT seq FROM event WHERE root_id = ? ORDER BY seq DESC LIMIT 1 OFFSET ?",
              [root_id, most]
            ),
            ([row]) => ({ root_id, until: Number(row?.seq ?? 0) })
          ))
    )

  /** Takes from a tree what is beyond its most, the oldest first. */
  const removeExcess = (excess: Border, left: number, gone = 0): Effect.Effect<number, StorageError> => {
    const most = Math.min(batch, left)
    if (most <= 0) return Effect.succeed(gone)
    const rows = select("prune", excessText, [excess.root_id, excess.until, most])
    return Effect.flatMap(
      retryBusy(turns.write(Effect.uninterruptible(rows))),
      ({ length }) =>
        length < most
          ? Effect.succeed(gone + length)
          : Effect.zipRight(Effect.sleep(0), removeExcess(excess, left - length, gone + length))
    )
  }

  const countExcess = ({ root_id, until }: Border, { before }: Pruning) =>
    Effect.map(
      read<{ readonly count: number }>(
        "prune",
        "SELECT count(*) AS count FROM event WHERE root_id = ? AND seq <= ? AND time >= ?",
        [root_id, until, before]
      ),
      ([row]) => Number(row?.count ?? 0)
    )

  return Effect.fnUntraced(function*(events) {
    const limit = events.limit ?? Number.POSITIVE_INFINITY
    let gone = events.dryRun === true ? yield* count(events) : yield* remove(events, limit)
    if (events.mostPerTree === undefined) return gone
    for (const excess of yield* excessOf(events.mostPerTree)) {
      gone += events.dryRun === true
        ? yield* countExcess(excess, events)
        : yield* removeExcess(excess, limit - gone)
    }
    return Math.min(gone, limit)
  })
}
