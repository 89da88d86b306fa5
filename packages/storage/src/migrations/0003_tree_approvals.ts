/** What a person allowed for one tree of sessions. */

/** Makes them go with their tree. */
export const statements: ReadonlyArray<string> = [
  "ALTER TABLE approval ADD COLUMN root_id TEXT REFERENCES session (id) ON DELETE CASCADE",
  "CREATE INDEX approval_root ON approval (root_id) WHERE root_id IS NOT NULL"
]
