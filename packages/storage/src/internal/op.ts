/**
 * Decides which rows a write changes. A row is encoded only when it is inserted, because most rows of a session are
 * replaced before that.
 */
import type { Write } from "@skein/core/SessionStorage"
import { receiptLifetime } from "@skein/core/Write"
import { ephemeral } from "@skein/domain/Event"
import { setsOf } from "./rulesets.ts"
import {
  approval,
  control,
  draft,
  event,
  inbox,
  message,
  part,
  receipt,
  ruleset,
  run,
  session,
  type Table,
  todo,
  type Value
} from "./tables.ts"

/** A change or a check of a lease, as a commit states it. */
export type LeaseOp = Extract<Write, { readonly _tag: "Hold" | "Renew" | "Fence" | "Release" }>

/** A renewal of a lease. */
export type RenewOp = Extract<LeaseOp, { readonly _tag: "Renew" }>

/** Whether a commit does nothing but renew leases: it must not wait for work. */
export const isRenewal = (ops: ReadonlyArray<Op>): ops is ReadonlyArray<RenewOp> =>
  ops.every(({ _tag }) => _tag === "Renew")

/** One change, as rows and keys. */
export type Op =
  | {
    readonly _tag: "Put"
    readonly table: TableName
    readonly key: string
    readonly values: () => ReadonlyArray<Value>
    /** Whether a later row that is not final must not replace this one. */
    readonly isFinal: boolean
  }
  | { readonly _tag: "Remove"; readonly table: TableName; readonly key: string; readonly values: ReadonlyArray<Value> }
  | { readonly _tag: "Take"; readonly id: string; readonly sessionID: string; readonly at: number }
  /** After all rows; does nothing if there is no such row. */
  | { readonly _tag: "Update"; readonly how: keyof typeof updates; readonly values: () => ReadonlyArray<Value> }
  | { readonly _tag: "Delete"; readonly sessionID: string }
  | LeaseOp

/** The tables in the order of writing: a row comes after the row that it belongs to. */
export const tables = { ruleset, session, message, part, run, inbox, control, approval, todo, receipt, event } as const

/** The name of a table. */
export type TableName = keyof typeof tables

/**
 * Changes of a row that exists. One that cannot be read stays, with another state in its columns: a session gets its own back when
 * it is stored again. A request that was withdrawn gets no answer.
 */
export const updates = {
  session: "UPDATE session SET archived = ? WHERE id = ?",
  run: "UPDATE run SET state = 'settled' WHERE id = ?",
  control: "UPDATE control SET is_answered = 1, data = ? WHERE id = ?",
  // Who asked may have ended before it read the answer.
  forgetControls: "DELETE FROM control WHERE is_answered = 1 AND created <= ?"
} as const

const put = <Row>(name: TableName, table: Table<Row>, row: Row, isFinal = false): Op => ({
  _tag: "Put",
  table: name,
  key: table.keyOf(row),
  values: () => table.values(row),
  isFinal
})

const remove = (table: TableName, ...values: ReadonlyArray<Value>): Op => ({
  _tag: "Remove",
  table,
  key: values.join("/"),
  values
})

/** The changes of a write; none for an ephemeral event. */
export const toOps = (write: Write): ReadonlyArray<Op> => {
  switch (write._tag) {
    case "Session":
      return [put("session", write.isDraft === true ? draft : session, write.info)]
    case "DeleteSession":
      return [{ _tag: "Delete", sessionID: write.id }]
    case "Message":
      return [put("message", message, write.info)]
    case "Part":
      return [put("part", part, write.part)]
    case "RemovePart":
      return [remove("part", write.sessionID, write.id)]
    case "Run":
      return [
        ...setsOf(write.run).map((set) => put("ruleset", ruleset, set)),
        put("run", run, write.run, write.run.state === "settled")
      ]
    case "Shelve":
      return [{ _tag: "Update", how: write.of, values: () => write.of === "run" ? [write.id] : [write.at, write.id] }]
    case "Inbox":
      return [put("inbox", inbox, write.row)]
    case "InboxTaken":
      return [{ _tag: "Take", id: write.id, sessionID: write.sessionID, at: write.at }]
    case "Event":
      return ephemeral.has(write.event.type) ? [] : [put("event", event, write.event)]
    case "Approval":
      return [put("approval", approval, write.approval)]
    case "RemoveApproval":
      return [remove("approval", write.id)]
    case "Control":
      return write.row.answer === undefined
        ? [
          put("control", control, write.row),
          { _tag: "Update", how: "forgetControls", values: () => [write.row.time.created - receiptLifetime] }
        ]
        : [{ _tag: "Update", how: "control", values: () => [JSON.stringify(write.row), write.row.id] }]
    case "RemoveControl":
      return [remove("control", write.id)]
    case "Todos":
      return [put("todo", todo, write)]
    case "Receipt":
      return [put("receipt", receipt, write.receipt)]
    case "Hold":
    case "Renew":
    case "Fence":
    case "Release":
      return [write]
  }
}
