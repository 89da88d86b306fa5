/** Prunes old events in small batches, so that other transactions run in between. */
import type { Pruning, SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { type Connection, type Dialect, makeSelect, type Select } from "./dialect.ts"
import type { Value } from "./tables.ts"
import { retryOutage } from "./writer.ts"

/** The maximum events per transaction, which limits how long the event loop is blocked. */
const batch = 500

/**
 * The positions of prunable events. The log is nearly sorted by time, so the scan ends at the first recent event and
 * needs no index, which every new event would have to update.
 */
const candidates = `SELECT position FROM event
  WHERE position < coalesce((SELECT position FROM event WHERE time >= ? ORDER BY position LIMIT 1), 9223372036854775807)
  AND root_id NOT IN (
    SELECT root_id FROM session WHERE updated >= ?
    UNION SELECT root_id FROM run WHERE state <> 'settled'
    UNION SELECT session.root_id FROM part JOIN session ON session.id = part.session_id
      WHERE part.state IN ('pending', 'running')
  )`

const excessText = `DELETE FROM event WHERE position IN (
  SELECT position FROM event WHERE root_id = ? AND tree_seq <= ? ORDER BY tree_seq LIMIT ?
) RETURNING position`

/** Counters of trees without sessions and events: such a tree gets no new events. */
const countersText = `DELETE FROM event_counter
  WHERE NOT EXISTS (SELECT 1 FROM session WHERE session.id = event_counter.root_id)
  AND NOT EXISTS (SELECT 1 FROM event WHERE event.root_id = event_counter.root_id)`

interface Excess {
  readonly root_id: string
}

/** The last number to prune of a tree with more events than its maximum. */
interface Border extends Excess {
  readonly until: number
}

const paramsOf = ({ before, restingSince }: Pruning): ReadonlyArray<Value> => [before, restingSince]

/** The database operations of pruning. */
interface Database {
  readonly read: Select
  /** Runs a statement that writes. */
  readonly change: (text: string, params: ReadonlyArray<Value>) => Effect.Effect<number, StorageError>
}

const count = ({ read }: Database, text: string, params: ReadonlyArray<Value>) =>
  Effect.map(
    read<{ readonly count: number }>("prune", `SELECT count(*) AS count FROM ${text}`, params),
    ([row]) => Number(row?.count ?? 0)
  )

const removeText = `DELETE FROM event WHERE position IN (${candidates} ORDER BY position LIMIT ?) RETURNING position`

/** Prunes old events batch by batch, with other transactions in between. */
const remove = (
  database: Database,
  events: Pruning,
  left: number,
  gone = 0
): Effect.Effect<number, StorageError> => {
  const most = Math.min(batch, left)
  return Effect.flatMap(
    database.change(removeText, [...paramsOf(events), most]),
    (removed) =>
      removed < batch || removed === left
        ? Effect.succeed(gone + removed)
        : Effect.zipRight(Effect.sleep(0), remove(database, events, left - removed, gone + removed))
  )
}

/** The trees with more events than the maximum, and where the excess of each ends. */
const excessOf = ({ read }: Database, most: number) =>
  Effect.flatMap(
    read<Excess>("prune", "SELECT root_id FROM event GROUP BY root_id HAVING count(*) > ?", [most]),
    (roots) =>
      Effect.forEach(roots, ({ root_id }) =>
        Effect.map(
          read<{ readonly tree_seq: number }>(
            "prune",
            "SELECT tree_seq FROM event WHERE root_id = ? ORDER BY tree_seq DESC LIMIT 1 OFFSET ?",
            [root_id, most]
          ),
          ([row]): Border => ({ root_id, until: Number(row?.tree_seq ?? 0) })
        ))
  )

/** Prunes the excess of a tree, oldest first. */
const removeExcess = (
  database: Database,
  excess: Border,
  left: number,
  gone = 0
): Effect.Effect<number, StorageError> => {
  const most = Math.min(batch, left)
  if (most <= 0) return Effect.succeed(gone)
  return Effect.flatMap(database.change(excessText, [excess.root_id, excess.until, most]), (removed) =>
    removed < most
      ? Effect.succeed(gone + removed)
      : Effect.zipRight(Effect.sleep(0), removeExcess(database, excess, left - removed, gone + removed)))
}

/** Makes the pruning part of the port. */
export const makePrune = (
  connection: Connection,
  dialect: Dialect,
  read: Select
): Context.Tag.Service<SessionStorage>["prune"] => {
  const select = makeSelect(connection, dialect)
  const database: Database = {
    read,
    // A single statement is a transaction.
    change: (text, params) =>
      Effect.map(
        retryOutage(Effect.uninterruptible(select("prune", text, params))),
        ({ length }) => length
      )
  }
  return Effect.fnUntraced(function*(events) {
    const limit = events.limit ?? Number.POSITIVE_INFINITY
    const isDry = events.dryRun === true
    let gone = isDry
      ? Math.min(yield* count(database, `(${candidates}) AS old`, paramsOf(events)), limit)
      : yield* remove(database, events, limit)
    if (events.mostPerTree !== undefined) {
      for (const excess of yield* excessOf(database, events.mostPerTree)) {
        gone += isDry
          ? yield* count(database, "event WHERE root_id = ? AND tree_seq <= ? AND time >= ?", [
            excess.root_id,
            excess.until,
            events.before
          ])
          : yield* removeExcess(database, excess, limit - gone)
      }
    }
    if (!isDry) yield* database.change(countersText, [])
    return Math.min(gone, limit)
  })
}
