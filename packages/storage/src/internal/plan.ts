/**
 * Decides which statements store a group of commits: as few as possible, with the effect of all in order. It is more
 * lenient in two ways. A row that a later one of the group replaces is neither encoded nor written, and so not refused.
 * And since tables are written one after the other, a row may belong to a row of a later commit of the group.
 */
import { receiptLifetime } from "@skein/core/Write"
import { batches, insertText, makeTexts } from "./batches.ts"
import type { Dialect } from "./dialect.ts"
import { type LeaseOp, type Op, type TableName, tables, updates } from "./op.ts"
import type { Value } from "./tables.ts"

const isHeld = "id = ? AND owner = ? AND epoch = ?"

const textOf = (tag: LeaseOp["_tag"], { now, share }: Dialect): string => {
  switch (tag) {
    case "Hold":
      return `UPDATE session SET owner = ?, epoch = ?, lease_until = ${now} + CAST(? AS BIGINT)
        WHERE id = ? AND coalesce(owner, '') = ? AND epoch = ? AND coalesce(lease_until, 0) = ? RETURNING id`
    case "Renew":
      return `UPDATE session SET lease_until = ${now} + CAST(? AS BIGINT) WHERE ${isHeld} RETURNING id`
    case "Fence":
      return `SELECT id FROM session WHERE ${isHeld}${share}`
    case "Release":
      return `UPDATE session SET owner = NULL, lease_until = NULL WHERE ${isHeld}`
  }
}

const paramsOf = (op: LeaseOp): ReadonlyArray<Value> => {
  const { epoch, owner, rootID } = op.lease
  switch (op._tag) {
    case "Hold":
      return [owner, epoch, op.length, rootID, op.found.owner ?? "", op.found.epoch, op.found.until]
    case "Renew":
      return [op.length, rootID, owner, epoch]
    case "Fence":
    case "Release":
      return [rootID, owner, epoch]
  }
}

/** The statement of a lease change, and whether it must return its row. */
export const leaseStatement = (op: LeaseOp, dialect: Dialect) => ({
  sql: textOf(op._tag, dialect),
  params: paramsOf(op),
  must: op._tag !== "Release"
})

/** Events for the log, which are numbered only when they are inserted. */
interface Append {
  readonly about: "event"
  readonly events: ReadonlyArray<ReadonlyArray<Value>>
}

/** A statement, its subject, and the number of rows that it must return. */
export interface Statement {
  readonly sql: string
  readonly params: ReadonlyArray<Value>
  readonly about: TableName
  readonly rows?: number
  /** The expected holder of a tree, if the returned rows show whether there is one. */
  readonly lease?: LeaseOp["lease"]
}

/** One step of a transaction. */
export type Planned = Statement | Append

/** Plans a list of changes. Throws if a value has no JSON. */
export type Plan = (ops: ReadonlyArray<Op>) => ReadonlyArray<Planned>

type Take = Extract<Op, { _tag: "Take" }>
type Update = Extract<Op, { _tag: "Update" }>

/** The rows of a table that remain after later changes replaced earlier ones. */
interface Changes {
  readonly put: Map<string, Extract<Op, { _tag: "Put" }>>
  readonly removed: Map<string, ReadonlyArray<Value>>
}

/** Changes without a deletion of a session in between: their tables can be written one after the other. */
interface Segment {
  readonly changes: Map<TableName, Changes>
  /** Never merged: a row can be taken once, and the second statement refuses it. */
  readonly taken: Array<Take>
  /** After all rows. */
  readonly updates: Array<Update>
  /** In order, after all rows: a failure here rolls everything back. */
  readonly leases: Array<LeaseOp>
}

const emptySegment = (): Segment => ({ changes: new Map(), taken: [], updates: [], leases: [] })

const add = ({ changes }: Segment, op: Extract<Op, { _tag: "Put" | "Remove" }>) => {
  let of = changes.get(op.table)
  if (of === undefined) changes.set(op.table, of = { put: new Map(), removed: new Map() })
  if (op._tag === "Remove") {
    of.removed.set(op.key, op.values)
    return
  }
  if (tables[op.table].second === "is refused") {
    // Never merged: the database refuses the second.
    of.put.set(`${op.key}#${of.put.size}`, op)
    return
  }
  const before = of.put.get(op.key)
  if (before === undefined || (tables[op.table].second === "replaces" && (op.isFinal || !before.isFinal))) {
    of.put.set(op.key, op)
    of.removed.delete(op.key)
  }
}

/** Repeats no lease check. */
const addLease = ({ leases }: Segment, op: LeaseOp) => {
  if (op._tag === "Fence") {
    const last = leases.findLast(({ lease }) => lease.rootID === op.lease.rootID)
    const isSame = last?.lease.epoch === op.lease.epoch && last.lease.owner === op.lease.owner
    if (isSame && last._tag !== "Release") return
  }
  leases.push(op)
}

const depth = tables.session.columns.indexOf("depth")

/** Parents come before their children, which may be in different statements. */
const fromTheTop = (a: ReadonlyArray<Value>, b: ReadonlyArray<Value>): number => Number(a[depth]) - Number(b[depth])

const tableNames = Object.keys(tables) as ReadonlyArray<TableName>

const putText = (name: TableName, rows: number): string => {
  const { columns, key, second } = tables[name]
  if (second === "is dropped") return `${insertText(name, columns, rows)} ON CONFLICT (${key.join(", ")}) DO NOTHING`
  const changes = columns.filter((column) => !key.includes(column)).map((column) => `${column} = excluded.${column}`)
  const put = `${insertText(name, columns, rows)} ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${changes.join(", ")}`
  return name === "run" ? `${put} WHERE run.state <> 'settled' OR excluded.state = 'settled'` : put
}

/**
 * A receipt is stored once. The request that has stored it may add to its result, as a message to a task adds the run that it
 * began.
 */
const receiptText = `${
  insertText("receipt", tables.receipt.columns, 1)
} ON CONFLICT (receipt_key) DO UPDATE SET message_id = excluded.message_id
  WHERE receipt.session_id = excluded.session_id
    AND substr(excluded.message_id, 1, length(receipt.message_id) + 1) = receipt.message_id || ' '
  RETURNING receipt_key`

const removeText = (name: TableName): string =>
  `DELETE FROM ${name} WHERE ${tables[name].key.map((column) => `${column} = ?`).join(" AND ")}`

const takeText = "UPDATE inbox SET taken_at = ? WHERE id = ? AND session_id = ? AND taken_at IS NULL RETURNING id"

/**
 * A session and everything below it. Foreign keys delete what belongs to them, with two exceptions: the log has none,
 * because it also records the deletion of a session, and parts are found much faster by their session than by each
 * message.
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

const created = tables.receipt.columns.indexOf("created")

/** Forgets the expired receipts first: their keys may be used again. */
const putReceipts = (
  text: ReturnType<typeof makeTexts>,
  rows: ReadonlyArray<ReadonlyArray<Value>>
): ReadonlyArray<Statement> => [
  {
    about: "receipt",
    sql: text("forget receipts", () => "DELETE FROM receipt WHERE created <= ?"),
    params: [rows.reduce((latest, row) => Math.max(latest, Number(row[created])), 0) - receiptLifetime]
  },
  ...rows.map((params) => ({
    about: "receipt" as const,
    sql: text("receipt", () => receiptText),
    params,
    rows: 1
  }))
]

/** Makes the planner of a dialect; it caches the text of every statement. */
export const makePlan = (dialect: Dialect): Plan => {
  const text = makeTexts(dialect)

  const put = (about: TableName, rows: ReadonlyArray<ReadonlyArray<Value>>, out: Array<Planned>) => {
    if (about === "event") {
      out.push({ about, events: rows })
      return
    }
    if (about === "receipt") {
      for (const statement of putReceipts(text, rows)) out.push(statement)
      return
    }
    for (const batch of batches(rows)) {
      const sql = text(`${about} ${batch.length}`, () => putText(about, batch.length))
      out.push({ about, sql, params: batch.flat() })
    }
  }

  const finish = ({ changes, leases, taken, updates: changed }: Segment, out: Array<Planned>) => {
    for (const about of tableNames) {
      const of = changes.get(about)
      if (of === undefined) continue
      const rows = Array.from(of.put.values(), ({ values }) => values())
      put(about, about === "session" ? rows.toSorted(fromTheTop) : rows, out)
      for (const params of of.removed.values()) {
        out.push({ about, params, sql: text(`${about} remove`, () => removeText(about)) })
      }
    }
    for (const { at, id, sessionID } of taken) {
      out.push({ about: "inbox", sql: text("take", () => takeText), params: [at, id, sessionID], rows: 1 })
    }
    for (const { how, values } of changed) {
      const about = how === "forgetControls" ? "control" : how
      out.push({ about, sql: text(`update ${how}`, () => updates[how]), params: values() })
    }
    for (const op of leases) {
      const { must, params, sql } = leaseStatement(op, dialect)
      out.push({
        about: "session",
        sql: text(op._tag, () => sql),
        params,
        ...(must ? { rows: 1, lease: op.lease } : {})
      })
    }
  }

  return (ops) => {
    const out: Array<Planned> = []
    let segment = emptySegment()
    for (const op of ops) {
      switch (op._tag) {
        case "Put":
        case "Remove":
          add(segment, op)
          break
        case "Take":
          segment.taken.push(op)
          break
        case "Update":
          segment.updates.push(op)
          break
        case "Hold":
        case "Renew":
        case "Fence":
        case "Release":
          addLease(segment, op)
          break
        case "Delete":
          // Changes before a deletion must not be merged with those after it.
          finish(segment, out)
          segment = emptySegment()
          for (const each of deleteTexts) {
            out.push({ about: "session", sql: text(each, () => each), params: [op.sessionID] })
          }
      }
    }
    finish(segment, out)
    return out
  }
}
