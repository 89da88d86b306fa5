/**
 * Appends events to the log and numbers them: each tree counts its own, without a gap. The counters are raised first.
 * Their rows stay locked until the transaction ends, so no other process numbers events of these trees meanwhile, and a
 * rolled-back transaction uses no number.
 */
import type { EventID, SessionID } from "@skein/domain/Id"
import { batches, insertText, makeTexts } from "./batches.ts"
import type { Connection, Dialect } from "./dialect.ts"
import { event, type Value } from "./tables.ts"

interface Numbered {
  readonly id: EventID
  readonly root: SessionID
  readonly row: ReadonlyArray<Value>
  readonly seq: number
}

interface Counter {
  readonly root_id: SessionID
  readonly last: number
}

const at = { id: event.columns.indexOf("id"), root: event.columns.indexOf("root_id") }
const idOf = (row: ReadonlyArray<Value>) => row[at.id] as EventID
const rootOf = (row: ReadonlyArray<Value>) => row[at.root] as SessionID

const columns = [...event.columns, "tree_seq"]

const countersText = (rows: number): string =>
  `${insertText("event_counter", ["root_id", "last"], rows)}
    ON CONFLICT (root_id) DO UPDATE SET last = event_counter.last + excluded.last RETURNING root_id, last`

/** The last number of each of these trees by its events. */
const lastsText = (roots: number): string =>
  `SELECT root_id, max(tree_seq) AS last FROM event WHERE root_id IN (${
    Array.from({ length: roots }, () => "?").join(", ")
  }) GROUP BY root_id`

const advanceText = "UPDATE event_counter SET last = last + ? WHERE root_id = ?"

const eventsText = (rows: number): string =>
  `${insertText("event", columns, rows)} ON CONFLICT (id) DO NOTHING RETURNING id`

const renumberText = "UPDATE event SET tree_seq = ? WHERE id = ?"
const lowerText = "UPDATE event_counter SET last = last - ? WHERE root_id = ?"

const countsOf = (rows: ReadonlyArray<ReadonlyArray<Value>>): ReadonlyArray<readonly [SessionID, number]> => {
  const counts = new Map<SessionID, number>()
  for (const row of rows) counts.set(rootOf(row), (counts.get(rootOf(row)) ?? 0) + 1)
  return [...counts]
}

/** Makes the writer of a database's event log. */
export const makeAppendEvents = (dialect: Dialect) => {
  const text = makeTexts(dialect)

  /**
   * A counter that was not there begins after the events that are: a database that was restored in parts may lack it, and
   * its tree could store nothing more. Usually the tree is new, and has none.
   */
  const advance = function*(connection: Connection, made: ReadonlyArray<SessionID>, next: Map<SessionID, number>) {
    for (const batch of batches(made.map((root) => [root] as const))) {
      const found = yield* connection.execute(
        text(`lasts ${batch.length}`, () => lastsText(batch.length)),
        batch.flat(),
        undefined
      )
      for (const { last, root_id } of found as ReadonlyArray<Counter>) {
        yield* connection.execute(text("advance", () => advanceText), [Number(last), root_id], undefined)
        next.set(root_id, (next.get(root_id) ?? 0) + Number(last))
      }
    }
  }

  /** Raises the counter of each tree, and numbers the rows. */
  const number = function*(connection: Connection, rows: ReadonlyArray<ReadonlyArray<Value>>) {
    const counts = countsOf(rows)
    const next = new Map<SessionID, number>()
    for (const batch of batches(counts)) {
      const raised = yield* connection.execute(
        text(`raise ${batch.length}`, () => countersText(batch.length)),
        batch.flat(),
        undefined
      )
      for (const { last, root_id } of raised as ReadonlyArray<Counter>) next.set(root_id, Number(last) + 1)
    }
    for (const [root, count] of counts) next.set(root, (next.get(root) ?? 0) - count)
    yield* advance(connection, counts.map(([root]) => root).filter((root) => next.get(root) === 1), next)
    return rows.map((row): Numbered => {
      const root = rootOf(row)
      const seq = next.get(root) ?? 0
      next.set(root, seq + 1)
      return { id: idOf(row), root, row, seq }
    })
  }

  /** Returns the numbers of events that already existed: later events move up. */
  const closeGaps = function*(connection: Connection, rows: ReadonlyArray<Numbered>, places: Map<EventID, number>) {
    const gaps = new Map<SessionID, number>()
    for (const { id, root, seq } of rows) {
      const gap = gaps.get(root) ?? 0
      if (!places.has(id)) {
        gaps.set(root, gap + 1)
      } else if (gap > 0) {
        yield* connection.execute(text("renumber", () => renumberText), [seq - gap, id], undefined)
        places.set(id, seq - gap)
      }
    }
    for (const [root, gap] of gaps) yield* connection.execute(text("lower", () => lowerText), [gap, root], undefined)
  }

  /** Inserts rows of the event table in the open transaction, and sets the number of each new event. */
  return function*(
    connection: Connection,
    rows: ReadonlyArray<ReadonlyArray<Value>>,
    places: Map<EventID, number>
  ) {
    const numbered = yield* number(connection, rows)
    const added = new Map<EventID, number>()
    const seqs = new Map(numbered.map(({ id, seq }) => [id, seq]))
    for (const batch of batches(numbered)) {
      const sql = text(`put ${batch.length}`, () => eventsText(batch.length))
      const put = yield* connection.execute(sql, batch.flatMap(({ row, seq }) => [...row, seq]), undefined)
      for (const { id } of put as ReadonlyArray<{ readonly id: EventID }>) added.set(id, seqs.get(id) ?? 0)
    }
    if (added.size < rows.length) yield* closeGaps(connection, numbered, added)
    for (const [id, seq] of added) places.set(id, seq)
  }
}
