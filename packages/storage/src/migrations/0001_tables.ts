/** The first schema. */

/** Makes all tables. Each value is whole in `data`; the other columns are for searching and for what changes by itself. */
export const statements: ReadonlyArray<string> = [
  // owner, epoch and lease_until belong to the loop that holds the session.
  `CREATE TABLE session (
    id TEXT PRIMARY KEY,
    parent_id TEXT REFERENCES session (id) ON DELETE CASCADE,
    root_id TEXT NOT NULL,
    depth INTEGER NOT NULL,
    project_id TEXT NOT NULL,
    directory TEXT NOT NULL,
    title TEXT NOT NULL,
    agent TEXT NOT NULL,
    version INTEGER NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    archived INTEGER,
    owner TEXT,
    epoch INTEGER NOT NULL DEFAULT 0,
    lease_until INTEGER,
    data TEXT NOT NULL
  )`,
  "CREATE INDEX session_parent ON session (parent_id)",
  "CREATE INDEX session_root ON session (root_id)",
  "CREATE INDEX session_project ON session (project_id, updated)",
  "CREATE INDEX session_owned ON session (owner) WHERE owner IS NOT NULL",

  `CREATE TABLE message (
    session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    role TEXT NOT NULL,
    version INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (session_id, id)
  )`,

  // effect, hash, attempt and epoch are the intent of a tool call.
  `CREATE TABLE part (
    session_id TEXT NOT NULL,
    id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    type TEXT NOT NULL,
    state TEXT,
    effect TEXT,
    hash TEXT,
    attempt INTEGER,
    epoch INTEGER,
    version INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (session_id, id),
    FOREIGN KEY (session_id, message_id) REFERENCES message (session_id, id) ON DELETE CASCADE
  )`,
  "CREATE INDEX part_open ON part (session_id) WHERE state IN ('pending', 'running')",

  `CREATE TABLE run (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    parent_id TEXT NOT NULL,
    root_id TEXT NOT NULL,
    part_id TEXT,
    state TEXT NOT NULL,
    version INTEGER NOT NULL,
    data TEXT NOT NULL
  )`,
  "CREATE INDEX run_task ON run (task_id)",
  "CREATE INDEX run_parent ON run (parent_id)",
  "CREATE INDEX run_root ON run (root_id)",
  "CREATE INDEX run_unsettled ON run (id) WHERE state <> 'settled'",

  // A row stays when it was taken, so that no result is delivered twice.
  `CREATE TABLE inbox (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    run_id TEXT UNIQUE,
    taken_at INTEGER,
    version INTEGER NOT NULL,
    data TEXT NOT NULL
  )`,
  "CREATE INDEX inbox_session ON inbox (session_id, id)",

  `CREATE TABLE approval (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL,
    permission TEXT NOT NULL,
    pattern TEXT NOT NULL,
    created INTEGER NOT NULL
  )`,
  "CREATE INDEX approval_project ON approval (project_id)",

  `CREATE TABLE todo (
    session_id TEXT PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
    data TEXT NOT NULL
  )`,

  // Either data, or ref: the message, part or session whose row the event shows. A number that was given is never given again.
  `CREATE TABLE event (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL,
    root_id TEXT NOT NULL,
    parent_id TEXT,
    depth INTEGER NOT NULL,
    type TEXT NOT NULL,
    time INTEGER NOT NULL,
    ref TEXT,
    data TEXT
  )`,
  "CREATE INDEX event_root ON event (root_id, seq)"
]

/** What a SQLite file has in its header, and what a process finds out by it: how many others have committed, or itself. */
export const postgres: ReadonlyArray<string> = [
  // One row: how many migrations were made, and how many transactions.
  "CREATE TABLE skein_storage (schema INTEGER NOT NULL, changes BIGINT NOT NULL)",
  "INSERT INTO skein_storage VALUES (0, 0)",
  // made: the number of the last transaction of a process.
  `CREATE TABLE writer (
    id TEXT PRIMARY KEY,
    made BIGINT NOT NULL,
    commits BIGINT NOT NULL,
    seen TIMESTAMPTZ NOT NULL
  )`
]
