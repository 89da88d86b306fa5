/** Approvals for one tree of sessions, which are deleted with that tree. */
import { migration } from "../internal/migration.ts"

export const treeApprovals = migration(({ text }) => [
  `ALTER TABLE approval ADD COLUMN root_id ${text} REFERENCES session (id) ON DELETE CASCADE`,
  "CREATE INDEX approval_root ON approval (root_id) WHERE root_id IS NOT NULL"
])
