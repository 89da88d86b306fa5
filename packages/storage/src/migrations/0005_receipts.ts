/** Receipts of prompts that a client may send twice, and indexes for recovery. */
import { migration } from "../internal/migration.ts"

export const receipts = migration(({ number, text }) => [
  `CREATE TABLE receipt (
    receipt_key ${text} PRIMARY KEY,
    digest ${text} NOT NULL,
    session_id ${text} NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    message_id ${text} NOT NULL,
    created ${number} NOT NULL
  )`,
  "CREATE INDEX receipt_created ON receipt (created)",
  "CREATE INDEX receipt_session ON receipt (session_id)",
  "CREATE INDEX inbox_waiting ON inbox (session_id) WHERE taken_at IS NULL"
])
