/** Decides by which statements a group of commits is made: as few as can be, with the effect of all in their order. */
import type { Dialect } from "./dialect.ts"
import { type Op, type TableName, tables } from "./op.ts"
import type { Value } from "./tables.ts"

/** A statement, what it is about, and the number of rows that it must give back. */
export interface Planned {
  readonly sql: string
  readonly params: ReadonlyArray<Value>
  readonly about: TableName
  readonly rows?: number
}

/** Plans a list of changes. */
export type Plan = (ops: ReadonlyArray<Op>) => ReadonlyArray<Planned>

/** What is left of each row when later changes have taken the place of earlier ones. */
class Segment {
  readonly rows = new Map<
    TableName,
    Map<string, { readonly values: ReadonlyArray<Value>; readonly removed: boolean }>
  >()
  /** Never merged: a row can be taken once, and the statement of the second time refuses it. */
  readonly taken: Array<Extract<Op, { _tag: "Take" }>> = []

  add(op: Extract<Op, { _tag: "Put" | "Remove" }>) {
    let rows = this.rows.get(op.table)
    if (rows === undefined) this.rows.set(op.table, rows = new Map())
    const removed = op._tag === "Remove"
    if (!removed && tables[op.table].second === "is dropped" && rows.has(op.key)) return
    rows.set(op.key, { values: op.values, removed })
  }
}

/** Rows in one statement at most. The sizes are powers of two, so that few different statements are prepared. */
const largest = 32

const chunkSize = (rows: number): number => {
  let size = largest
  while (size > rows) size /= 2
  return size
}

const placeholders = (columns: number): string => `(${Array<string>(columns).fill("?").join(", ")})`

const putText = (name: TableName, rows: number): string => {
  const { columns, key, second } = tables[name]
  const values = Array<string>(rows).fill(placeholders(columns.length)).join(", ")
  const changes = columns.filter((column) => !key.includes(column)).map((column) => `${column} = excluded.${column}`)
  const conflict = second === "is dropped" ? "NOTHING" : `UPDATE SET ${changes.join(", ")}`
  return `INSERT INTO ${name} (${columns.join(", ")}) VALUES ${values} ON CONFLICT (${key.join(", ")}) DO ${conflict}`
}

const removeText = (name: TableName): string =>
  `DELETE FROM ${name} WHERE ${tables[name].key.map((column) => `${column} = ?`).join(" AND ")}`

const takeText = "UPDATE inbox SET taken_at = ? WHERE id = ? AND session_id = ? AND taken_at IS NULL RETURNING id"

/**
 * A session and all below it. What belongs to them goes by foreign keys, but for two things: the log has none, since it
 * also tells that a session was deleted, and parts are found much faster by their session than by each message.
 */
const deleteTexts = [
  "DELETE FROM event WHERE root_id IN (SELECT root_id FROM tree) AND session_id IN (SELECT id FROM tree)",
  "DELETE FROM part WHERE session_id IN (SELECT id FROM tree)",
  "DELETE FROM session WHERE id IN (SELECT id FROM tree)"
].map((text) =>
  `WITH RECURSIVE tree(id, root_id) AS (
    SELECT id, root_id FROM session WHERE id = ?
    UNION SELECT session.id, session.root_id FROM session JOIN tree ON session.parent_id = tree.id
  ) ${text}`
)

/** Makes the planner of a dialect; it keeps the text of every statement that it has written. */
export const makePlan = (dialect: Dialect): Plan => {
  const texts = new Map<string, string>()
  const text = (key: string, write: () => string): string => {
    let found = texts.get(key)
    if (found === undefined) texts.set(key, found = dialect.text(write()))
    return found
  }

  const finish = (segment: Segment, out: Array<Planned>) => {
    for (const about of Object.keys(tables) as ReadonlyArray<TableName>) {
      const put: Array<ReadonlyArray<Value>> = []
      for (const { removed, values } of segment.rows.get(about)?.values() ?? []) {
        if (removed) out.push({ about, sql: text(`${about} remove`, () => removeText(about)), params: values })
        else put.push(values)
      }
      for (let at = 0; at < put.length;) {
        const size = chunkSize(put.length - at)
        out.push({
          about,
          sql: text(`${about} ${size}`, () => putText(about, size)),
          params: put.slice(at, at + size).flat()
        })
        at += size
      }
      if (about === "inbox") {
        for (const { at, id, sessionID } of segment.taken) {
          out.push({ about, sql: text("take", () => takeText), params: [at, id, sessionID], rows: 1 })
        }
      }
    }
  }

  return (ops) => {
    const out: Array<Planned> = []
    let segment = new Segment()
    for (const op of ops) {
      switch (op._tag) {
        case "Put":
        case "Remove":
          segment.add(op)
          break
        case "Take":
          segment.taken.push(op)
          break
        case "Delete":
          // What comes before a deletion must not be put after it.
          finish(segment, out)
          segment = new Segment()
          for (const each of deleteTexts) {
            out.push({ about: "session", sql: text(each, () => each), params: [op.sessionID] })
          }
      }
    }
    finish(segment, out)
    return out
  }
}
