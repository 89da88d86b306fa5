/** What prompts came to that a client may send twice. */

/** Makes the table, and indexes for those who take up what a process left. */
export const statements: ReadonlyArray<string> = [
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
