/** The statements with which each earlier version created its SQLite files. They never change. */

const first: ReadonlyArray<string> = [
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

const second: ReadonlyArray<string> = [
  "CREATE INDEX inbox_mail ON inbox (id) WHERE taken_at IS NULL AND kind IN ('steer', 'stop')"
]

const third: ReadonlyArray<string> = [
  "ALTER TABLE approval ADD COLUMN root_id TEXT REFERENCES session (id) ON DELETE CASCADE",
  "CREATE INDEX approval_root ON approval (root_id) WHERE root_id IS NOT NULL"
]

const fourth: ReadonlyArray<string> = [
  "ALTER TABLE event RENAME COLUMN seq TO position",
  "ALTER TABLE event ADD COLUMN tree_seq INTEGER NOT NULL DEFAULT 0",
  `UPDATE event SET tree_seq = numbered.number
    FROM (SELECT position, row_number() OVER (PARTITION BY root_id ORDER BY position) AS number FROM event) AS numbered
    WHERE numbered.position = event.position`,
  "DROP INDEX event_root",
  "CREATE UNIQUE INDEX event_number ON event (root_id, tree_seq)",
  "CREATE TABLE event_counter (root_id TEXT PRIMARY KEY, last INTEGER NOT NULL)",
  "INSERT INTO event_counter (root_id, last) SELECT root_id, max(tree_seq) FROM event GROUP BY root_id"
]

const fifth: ReadonlyArray<string> = [
  `CREATE TABLE receipt (
    receipt_key TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    message_id TEXT NOT NULL,
    created INTEGER NOT NULL
  )`,
  "CREATE INDEX receipt_created ON receipt (created)",
  "CREATE INDEX receipt_session ON receipt (session_id)",
  "CREATE INDEX inbox_waiting ON inbox (session_id) WHERE taken_at IS NULL"
]

const sixth: ReadonlyArray<string> = [
  "CREATE TABLE ruleset (digest TEXT PRIMARY KEY, data TEXT NOT NULL)",
  "ALTER TABLE run ADD COLUMN terms TEXT"
]

const seventh: ReadonlyArray<string> = ["ALTER TABLE approval ADD COLUMN host TEXT"]

const eighth: ReadonlyArray<string> = [
  "DROP INDEX inbox_mail",
  `CREATE TABLE control (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    is_answered INTEGER NOT NULL,
    data TEXT NOT NULL
  )`,
  "CREATE INDEX control_session ON control (session_id)",
  "CREATE INDEX control_waiting ON control (id) WHERE is_answered = 0",
  "CREATE INDEX part_message ON part (session_id, message_id, id)"
]

/** The statements that each schema added to the one before. */
export const schemas = [first, second, third, fourth, fifth, sixth, seventh, eighth]
