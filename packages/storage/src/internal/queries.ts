/** Decides how to find stored rows. */
import type { Approval, SessionStorage, StoredLease } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import { type Receipt, receiptLifetime } from "@skein/core/Write"
import { ControlRow } from "@skein/domain/Control"
import { type ControlID, SessionID } from "@skein/domain/Id"
import { InboxRow } from "@skein/domain/InboxRow"
import { type RunTerms, TaskRun } from "@skein/domain/Outcome"
import { SessionInfo, Todo } from "@skein/domain/SessionInfo"
import { listedTitle, longestTitle } from "@skein/domain/Typed"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { makeDecode, oneReadable, readable, type Row } from "./decode.ts"
import { type Dialect, type Select, type Snapshot, where } from "./dialect.ts"
import { makeReadEventRange, makeReadEvents } from "./readEvents.ts"
import { makeReadMessages } from "./readMessages.ts"
import { makeReadTerms, type RunRow } from "./readTerms.ts"
import { makeReadUnfinished } from "./readUnfinished.ts"
import type { Together } from "./together.ts"

const decode = makeDecode(ControlRow)

const waiting = (...more: ReadonlyArray<string>) =>
  `SELECT id, data FROM control WHERE ${[...more, "is_answered = 0"].join(" AND ")} ORDER BY id`

/** Makes the reader. It reads nothing if no other process has committed since the last call. */
export const makeMail = (
  othersVersion: Effect.Effect<unknown, StorageError>,
  read: Select
): Effect.Effect<Effect.Effect<ReadonlyArray<ControlRow> | undefined, StorageError>> =>
  Effect.sync(() => {
    let seen: unknown
    return Effect.flatMap(othersVersion, (version) => {
      if (version === seen) return Effect.succeed(undefined)
      return Effect.map(read<Row>("mail", waiting(), []), (rows) => {
        seen = version
        return readable(rows, decode).rows
      })
    })
  })

/** Reads one request. */
const makeControl = (read: Select) => (id: ControlID) =>
  Effect.flatMap(
    read<Row>("control", "SELECT id, data FROM control WHERE id = ?", [id]),
    (rows) => oneReadable("control", rows, decode)
  )

const decodeSession = makeDecode(SessionInfo)
const decodeRun = makeDecode(TaskRun)
const decodeInbox = makeDecode(InboxRow)
const decodeTodos = makeDecode(Schema.Array(Todo))

interface ApprovalRow {
  readonly id: string
  readonly project_id: string
  readonly root_id: SessionID | null
  readonly host: string | null
  readonly permission: string
  readonly pattern: string
  readonly created: number
}

interface LeaseRow {
  readonly id: SessionID
  readonly owner: string | null
  readonly epoch: number
  readonly lease_until: number | null
  /** By the clock of the database. */
  readonly read_at: number
}

const toLease = (row: LeaseRow): StoredLease => ({
  owner: row.owner ?? undefined,
  epoch: Number(row.epoch),
  until: Number(row.lease_until ?? 0),
  left: Math.max(0, Number(row.lease_until ?? 0) - Number(row.read_at))
})

const toApproval = (row: ApprovalRow): Approval => ({
  id: row.id,
  projectID: row.project_id,
  ...(row.root_id === null ? {} : { rootID: row.root_id }),
  ...(row.host === null ? {} : { host: row.host }),
  permission: row.permission,
  pattern: row.pattern,
  created: row.created
})

/** How many rows one statement reads by their ids. */
const most = 500

const marks = (ids: ReadonlyArray<string>): string => ids.map(() => "?").join(", ")

const makeLeases = (read: Select, together: Together, now: string): Pick<Port, "lease" | "leases"> => {
  const leases = (rootIDs: ReadonlyArray<SessionID>) =>
    read<LeaseRow>(
      "lease",
      `SELECT id, owner, epoch, lease_until, ${now} AS read_at FROM session WHERE id IN (${marks(rootIDs)})`,
      rootIDs
    )
  const all: Port["leases"] = (rootIDs) =>
    Effect.map(
      Effect.forEach(Arr.chunksOf(rootIDs, most), leases),
      (rows) => new Map(rows.flat().map((row) => [row.id, toLease(row)]))
    )
  const one = together(all)
  return { lease: (rootID) => Effect.map(one(rootID), Option.fromNullable), leases: all }
}

const makeSession = (read: Select, together: Together): Port["session"] => {
  const one = together((ids: ReadonlyArray<SessionID>) =>
    Effect.map(
      Effect.forEach(
        Arr.chunksOf(ids, most),
        (some) =>
          read<Row>("session", `SELECT id, data FROM session WHERE is_draft = 0 AND id IN (${marks(some)})`, some)
      ),
      (rows) => new Map(rows.flat().map((row) => [SessionID.make(row.id), row]))
    )
  )
  return (id) => Effect.flatMap(one(id), (row) => oneReadable("session", row === undefined ? [] : [row], decodeSession))
}

/** Runs of drafts are as hidden as these. The index of drafts is nearly always empty. */
const isShown = "root_id NOT IN (SELECT id FROM session WHERE is_draft = 1)"

/** The columns that store ids: each has an index for prefix lookups. */
const idColumns = {
  sessions: { table: "session", column: "id", test: "is_draft = 0" },
  tasks: { table: "run", column: "task_id", test: isShown },
  runs: { table: "run", column: "id", test: isShown }
} as const

/** Sorts after every character of an id. */
const behind = "~"

type Port = Context.Tag.Service<SessionStorage>

/**
 * The data of a listed session. The database cuts a title that is much too long: a list of those would take seconds to read,
 * to decode and to send.
 */
const listedData = (json: Dialect["json"]): string =>
  `CASE WHEN octet_length(title) > ${8 * longestTitle}
    THEN replace(data, ${json("title")}, ${json(`substr(title, 1, ${longestTitle + 1})`)}) ELSE data END AS data`

const shortened = (info: SessionInfo): SessionInfo => ({ ...info, title: listedTitle(info.title) })

const makeSessions = (read: Select, json: Dialect["json"]): Port["sessions"] => {
  const select = (filter: Parameters<Port["sessions"]>[0], limit: number | undefined) => {
    const tests = where(
      { project_id: filter.projectID, root_id: filter.rootID, parent_id: filter.parentID },
      `is_draft = ${filter.drafts === true ? 1 : 0}`,
      ...(filter.roots === true ? ["parent_id IS NULL"] : []),
      ...(filter.after === undefined ? [] : ["(updated < ? OR (updated = ? AND id < ?))"])
    )
    const order = `${tests.sql} ORDER BY updated DESC, id DESC`
    const { after } = filter
    const params = [...tests.params, ...(after === undefined ? [] : [after.updated, after.updated, after.id])]
    const what = `SELECT id, ${filter.roots === true ? listedData(json) : "data"} FROM session ${order}`
    return limit === undefined
      ? read<Row>("sessions", what, params)
      : read<Row>("sessions", `${what} LIMIT ?`, [...params, limit])
  }
  const found = Effect.fnUntraced(function*(filter: Parameters<Port["sessions"]>[0]) {
    const { limit } = filter
    const first = readable(yield* select(filter, limit), decodeSession)
    if (limit === undefined || first.unreadable.length === 0) return first
    // The limit counts only readable rows.
    return readable(yield* select(filter, undefined), decodeSession, limit)
  })
  return (filter) =>
    filter.roots === true
      ? Effect.map(found(filter), ({ rows, unreadable }) => ({ rows: rows.map(shortened), unreadable }))
      : found(filter)
}

const makeIds = (read: Select): Port["ids"] => (of, start, limit) => {
  const { column, table, test } = idColumns[of]
  return Effect.map(
    read<{ readonly id: string }>(
      "ids",
      `SELECT DISTINCT ${column} AS id FROM ${table} WHERE ${test} AND ${column} >= ? AND ${column} < ? ORDER BY ${column} LIMIT ?`,
      [start, `${start}${behind}`, limit]
    ),
    (rows) => rows.map(({ id }) => id)
  )
}

const makeRuns = (read: Select): Pick<Port, "run" | "runs"> => {
  const readTerms = makeReadTerms(read)
  const bounded = (terms: ReadonlyMap<string, RunTerms>) => (run: TaskRun): TaskRun => {
    const found = terms.get(run.id)
    return found === undefined ? run : { ...run, terms: found }
  }
  return {
    run: Effect.fnUntraced(function*(id) {
      const rows = yield* read<RunRow>("run", `SELECT id, terms, data FROM run WHERE id = ? AND ${isShown}`, [id])
      return Option.map(yield* oneReadable("run", rows, decodeRun), bounded(yield* readTerms(rows)))
    }),
    runs: Effect.fnUntraced(function*({ newest, parentID, rootID, taskID, unsettled }) {
      const tests = where(
        { task_id: taskID, parent_id: parentID, root_id: rootID },
        isShown,
        ...(unsettled === true ? ["state <> 'settled'"] : []),
        ...(newest?.before === undefined ? [] : ["id < ?"])
      )
      const rows = yield* read<RunRow>(
        "runs",
        `SELECT id, terms, data FROM run ${tests.sql} ORDER BY id${newest === undefined ? "" : " DESC LIMIT ?"}`,
        [
          ...tests.params,
          ...(newest === undefined ? [] : [newest.before, newest.limit].filter((each) => each !== undefined))
        ]
      )
      const found = readable(newest === undefined ? rows : rows.toReversed(), decodeRun)
      return { ...found, rows: found.rows.map(bounded(yield* readTerms(rows))) }
    })
  }
}

const makeApprovals = (read: Select): Port["approvals"] => (projectID, rootID) =>
  Effect.map(
    read<ApprovalRow>(
      "approvals",
      `SELECT * FROM approval WHERE project_id = ?${
        rootID === undefined ? "" : " AND (root_id IS NULL OR root_id = ?)"
      } ORDER BY created, id`,
      rootID === undefined ? [projectID] : [projectID, rootID]
    ),
    (rows) => rows.map(toApproval)
  )

interface ReceiptRow {
  readonly receipt_key: string
  readonly digest: string
  readonly session_id: SessionID
  readonly message_id: string
  readonly created: number
}

const makeReceipt = (read: Select): Port["receipt"] => (key) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.map(
      read<ReceiptRow>("receipt", "SELECT * FROM receipt WHERE receipt_key = ? AND created > ?", [
        key,
        now - receiptLifetime
      ]),
      ([row]) =>
        Option.map(Option.fromNullable(row), ({ created, digest, message_id, receipt_key, session_id }): Receipt => ({
          key: receipt_key,
          digest,
          sessionID: session_id,
          result: message_id,
          created: Number(created)
        }))
    ))

/** Makes the reading part of the port. */
export const makeQueries = (
  read: Select,
  snapshot: Snapshot,
  together: Together,
  { json, now }: Pick<Dialect, "json" | "now">
): Omit<Port, "commit" | "prune"> => ({
  session: makeSession(read, together),
  ids: makeIds(read),
  ...makeLeases(read, together, now),
  sessions: makeSessions(read, json),
  ...makeReadMessages(snapshot),
  ...makeRuns(read),
  inbox: (id) =>
    Effect.map(
      read<Row>("inbox", "SELECT id, data FROM inbox WHERE session_id = ? AND taken_at IS NULL ORDER BY id", [id]),
      (rows) => readable(rows, decodeInbox)
    ),
  events: makeReadEvents(read),
  eventRange: makeReadEventRange(read),
  unfinished: makeReadUnfinished(read),
  receipt: makeReceipt(read),
  control: makeControl(read),
  waiting: (rootID) =>
    Effect.map(
      read<Row>("waiting", waiting("root_id = ?"), [rootID]),
      (rows) => readable(rows, decode).rows
    ),
  approvals: makeApprovals(read),
  todos: (id) =>
    Effect.flatMap(
      read<Row>("todos", "SELECT session_id AS id, data FROM todo WHERE session_id = ?", [id]),
      (rows) => Effect.map(oneReadable("todos", rows, decodeTodos), Option.getOrElse(() => []))
    )
})
