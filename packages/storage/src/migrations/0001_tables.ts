/** The first schema. Each value is complete in `data`; the other columns are for searches and for separate updates. */
import { type ColumnTypes, migration } from "../internal/migration.ts"

/** owner, epoch and lease_until belong to the lease holder. */
const sessions = ({ number, text }: ColumnTypes): ReadonlyArray<string> => [
  `CREATE TABLE session (
    id ${text} PRIMARY KEY,
    parent_id ${text} REFERENCES session (id) ON DELETE CASCADE,
    root_id ${text} NOT NULL,
    depth ${number} NOT NULL,
    project_id ${text} NOT NULL,
    directory ${text} NOT NULL,
    title ${text} NOT NULL,
    agent ${text} NOT NULL,
    version ${number} NOT NULL,
    created ${number} NOT NULL,
    updated ${number} NOT NULL,
    archived ${number},
    owner ${text},
    epoch ${number} NOT NULL DEFAULT 0,
    lease_until ${number},
    data ${text} NOT NULL
  )`,
  "CREATE INDEX session_parent ON session (parent_id)",
  "CREATE INDEX session_root ON session (root_id)",
  "CREATE INDEX session_project ON session (project_id, updated)",
  "CREATE INDEX session_owned ON session (owner) WHERE owner IS NOT NULL"
]

const messages = ({ number, text }: ColumnTypes): ReadonlyArray<string> => [
  `CREATE TABLE message (
    session_id ${text} NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    id ${text} NOT NULL,
    role ${text} NOT NULL,
    version ${number} NOT NULL,
    data ${text} NOT NULL,
    PRIMARY KEY (session_id, id)
  )`
]

/** effect, hash, attempt and epoch are the intent of a tool call. */
const parts = ({ number, text }: ColumnTypes): ReadonlyArray<string> => [
  `CREATE TABLE part (
    session_id ${text} NOT NULL,
    id ${text} NOT NULL,
    message_id ${text} NOT NULL,
    type ${text} NOT NULL,
    state ${text},
    effect ${text},
    hash ${text},
    attempt ${number},
    epoch ${number},
    version ${number} NOT NULL,
    data ${text} NOT NULL,
    PRIMARY KEY (session_id, id),
    FOREIGN KEY (session_id, message_id) REFERENCES message (session_id, id) ON DELETE CASCADE
  )`,
  "CREATE INDEX part_open ON part (session_id) WHERE state IN ('pending', 'running')"
]

const runs = ({ number, text }: ColumnTypes): ReadonlyArray<string> => [
  `CREATE TABLE run (
    id ${text} PRIMARY KEY,
    task_id ${text} NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    parent_id ${text} NOT NULL,
    root_id ${text} NOT NULL,
    part_id ${text},
    state ${text} NOT NULL,
    version ${number} NOT NULL,
    data ${text} NOT NULL
  )`,
  "CREATE INDEX run_task ON run (task_id)",
  "CREATE INDEX run_parent ON run (parent_id)",
  "CREATE INDEX run_root ON run (root_id)",
  "CREATE INDEX run_unsettled ON run (id) WHERE state <> 'settled'"
]

/** A taken row stays, so that no result is delivered twice. */
const inbox = ({ number, text }: ColumnTypes): ReadonlyArray<string> => [
  `CREATE TABLE inbox (
    id ${text} PRIMARY KEY,
    session_id ${text} NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    kind ${text} NOT NULL,
    run_id ${text} UNIQUE,
    taken_at ${number},
    version ${number} NOT NULL,
    data ${text} NOT NULL
  )`,
  "CREATE INDEX inbox_session ON inbox (session_id, id)"
]

const approvals = ({ number, text }: ColumnTypes): ReadonlyArray<string> => [
  `CREATE TABLE approval (
    id ${text} PRIMARY KEY,
    project_id ${text} NOT NULL,
    permission ${text} NOT NULL,
    pattern ${text} NOT NULL,
    created ${number} NOT NULL
  )`,
  "CREATE INDEX approval_project ON approval (project_id)"
]

const todos = ({ text }: ColumnTypes): ReadonlyArray<string> => [
  `CREATE TABLE todo (
    session_id ${text} PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
    data ${text} NOT NULL
  )`
]

/** Either data, or ref: the message, part or session whose row the event shows. A number is never assigned twice. */
const events = ({ counter, number, text }: ColumnTypes): ReadonlyArray<string> => [
  `CREATE TABLE event (
    seq ${counter},
    id ${text} NOT NULL UNIQUE,
    session_id ${text} NOT NULL,
    root_id ${text} NOT NULL,
    parent_id ${text},
    depth ${number} NOT NULL,
    type ${text} NOT NULL,
    time ${number} NOT NULL,
    ref ${text},
    data ${text}
  )`,
  "CREATE INDEX event_root ON event (root_id, seq)"
]

/**
 * The schema version, which a SQLite file has in its header, and the number of commits, by which a process notices
 * those of others.
 */
const forPostgres = ({ number, text }: ColumnTypes): ReadonlyArray<string> => [
  // One row: the number of applied migrations, and of transactions.
  `CREATE TABLE skein_storage (schema ${number} NOT NULL, changes BIGINT NOT NULL)`,
  "INSERT INTO skein_storage VALUES (0, 0)",
  // made: the number of the last transaction of a process.
  `CREATE TABLE writer (
    id ${text} PRIMARY KEY,
    made BIGINT NOT NULL,
    commits BIGINT NOT NULL,
    seen TIMESTAMPTZ NOT NULL
  )`
]

export const tables = migration((types) => [
  ...sessions(types),
  ...messages(types),
  ...parts(types),
  ...runs(types),
  ...inbox(types),
  ...approvals(types),
  ...todos(types),
  ...events(types),
  ...(types.isPostgres ? forPostgres(types) : [])
])
