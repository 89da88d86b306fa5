/**
 * Decides the columns of each row: the whole value as JSON, and separate columns for what is searched or changed
 * separately.
 */
import type { Approval } from "@skein/core/SessionStorage"
import type { Receipt } from "@skein/core/Write"
import type { ControlRow } from "@skein/domain/Control"
import type { Event } from "@skein/domain/Event"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { Message } from "@skein/domain/Message"
import type { TaskRun } from "@skein/domain/Outcome"
import type { Intent, Part } from "@skein/domain/Part"
import { type SessionInfo, type Todo, version } from "@skein/domain/SessionInfo"
import { type StoredRules, termsColumn, withoutSets } from "./rulesets.ts"

/** The value of a column. */
export type Value = string | number | null

/** A table for rows. */
export interface Table<Row> {
  readonly name: string
  readonly columns: ReadonlyArray<string>
  readonly key: ReadonlyArray<string>
  /** What a second row with the same key does: replace the first, or nothing, or its commit has no effect. */
  readonly second: "replaces" | "is dropped" | "is refused"
  /** The primary key. */
  readonly keyOf: (row: Row) => string
  /** The values of the columns. Throws if a value has no JSON. */
  readonly values: (row: Row) => ReadonlyArray<Value>
}

const table = <Row>(
  name: string,
  key: ReadonlyArray<string>,
  columns: Readonly<Record<string, (row: Row) => Value | undefined>>,
  second: Table<Row>["second"] = "replaces"
): Table<Row> => {
  const read = Object.values(columns)
  const readKey = key.flatMap((column) => columns[column] ?? [])
  return {
    name,
    key,
    columns: Object.keys(columns),
    second,
    keyOf: (row) => readKey.map((of) => of(row)).join("/"),
    values: (row) => read.map((of) => of(row) ?? null)
  }
}

const json = (row: unknown): string => JSON.stringify(row)
const intent = (part: Part): Intent | undefined => (part.type === "tool" ? part.intent : undefined)

const sessions = (isDraft: 0 | 1) =>
  table<SessionInfo>("session", ["id"], {
    id: (row) => row.id,
    parent_id: (row) => row.parentID,
    root_id: (row) => row.rootID,
    depth: (row) => row.depth,
    project_id: (row) => row.projectID,
    directory: (row) => row.directory,
    title: (row) => row.title,
    agent: (row) => row.agent,
    version: (row) => row.version,
    created: (row) => row.time.created,
    updated: (row) => row.time.updated,
    archived: (row) => row.time.archived,
    is_draft: () => isDraft,
    data: json
  })

/** Sessions. Owner, epoch and lease belong to the lease holder: an upsert does not change them. */
export const session = sessions(0)

/** The same table, for sessions whose rows are not all stored yet. */
export const draft = sessions(1)

/** Messages. */
export const message = table<Message>("message", ["session_id", "id"], {
  session_id: (row) => row.sessionID,
  id: (row) => row.id,
  role: (row) => row.role,
  version: () => version,
  data: json
})

/** Parts. A tool call's state and intent are columns, to find calls that a crash interrupted. */
export const part = table<Part>("part", ["session_id", "id"], {
  session_id: (row) => row.sessionID,
  id: (row) => row.id,
  message_id: (row) => row.messageID,
  type: (row) => row.type,
  state: (row) => (row.type === "tool" ? row.state.status : null),
  effect: (row) => intent(row)?.effect,
  hash: (row) => intent(row)?.hash,
  attempt: (row) => intent(row)?.attempt,
  epoch: (row) => intent(row)?.epoch,
  version: () => version,
  data: json
})

/** Runs of tasks. */
export const run = table<TaskRun>("run", ["id"], {
  id: (row) => row.id,
  task_id: (row) => row.taskID,
  parent_id: (row) => row.parentID,
  root_id: (row) => row.rootID,
  part_id: (row) => row.partID,
  state: (row) => row.state,
  version: () => version,
  terms: termsColumn,
  data: (row) => json(withoutSets(row))
})

/** Sets of rules that bound runs. */
export const ruleset = table<StoredRules>("ruleset", ["digest"], {
  digest: (row) => row.digest,
  data: (row) => row.data
}, "is dropped")

/** Inbox rows. An upsert does not change `taken_at`: a taken row stays taken. */
export const inbox = table<InboxRow>("inbox", ["id"], {
  id: (row) => row.id,
  session_id: (row) => row.sessionID,
  kind: (row) => row.kind,
  run_id: (row) => row.runID,
  version: () => version,
  data: json
})

/** Requests to the holders of trees. */
export const control = table<ControlRow>("control", ["id"], {
  id: (row) => row.id,
  session_id: (row) => row.sessionID,
  root_id: (row) => row.rootID,
  is_answered: (row) => (row.answer === undefined ? 0 : 1),
  created: (row) => row.time.created,
  data: json
})

/** Approvals of a project, or of a tree in it. */
export const approval = table<Approval>("approval", ["id"], {
  id: (row) => row.id,
  project_id: (row) => row.projectID,
  root_id: (row) => row.rootID,
  host: (row) => row.host,
  permission: (row) => row.permission,
  pattern: (row) => row.pattern,
  created: (row) => row.created
})

/**
 * Receipts of requests. A second one under a key is of a request that another process carries out at the same time, and must
 * not be done twice. The column of the result is as old as receipts, when all of them were of prompts.
 */
export const receipt = table<Receipt>("receipt", ["receipt_key"], {
  receipt_key: (row) => row.key,
  digest: (row) => row.digest,
  session_id: (row) => row.sessionID,
  message_id: (row) => row.result,
  created: (row) => row.created
}, "is refused")

/** The todos of each session. */
export const todo = table<{ readonly sessionID: string; readonly todos: ReadonlyArray<Todo> }>("todo", ["session_id"], {
  session_id: (row) => row.sessionID,
  data: (row) => json(row.todos)
})

/**
 * The row that an event refers to, if reading the event can show the current row instead. With a copy in every such
 * event, each part would be stored again for each of its changes, and the log would soon be most of the database.
 */
const reference = (event: Event): string | undefined => {
  switch (event.type) {
    case "session.updated":
      return event.properties.info.id === event.sessionID ? event.sessionID : undefined
    case "message.updated":
      return event.properties.info.sessionID === event.sessionID ? event.properties.info.id : undefined
    case "message.part.updated":
      return event.properties.part.sessionID === event.sessionID ? event.properties.part.id : undefined
    default:
      return undefined
  }
}

/** The event log. Positions and numbers are assigned on insertion. */
export const event = table<Event>("event", ["id"], {
  id: (row) => row.id,
  session_id: (row) => row.sessionID,
  root_id: (row) => row.rootID,
  parent_id: (row) => row.parentID,
  depth: (row) => row.depth,
  type: (row) => row.type,
  time: (row) => row.timestamp,
  ref: reference,
  data: (row) => (reference(row) === undefined ? json(row.properties) : null)
}, "is dropped")
