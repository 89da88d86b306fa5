/** Requests to the holders of trees, in place of messages in inboxes, and an index for pages of messages. */
import { migration } from "../internal/migration.ts"

export const control = migration(({ number, text }) => [
  "DROP INDEX inbox_mail",
  `CREATE TABLE control (
    id ${text} PRIMARY KEY,
    session_id ${text} NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    is_answered ${number} NOT NULL,
    data ${text} NOT NULL
  )`,
  "CREATE INDEX control_session ON control (session_id)",
  "CREATE INDEX control_waiting ON control (id) WHERE is_answered = 0",
  "CREATE INDEX part_message ON part (session_id, message_id, id)"
])
