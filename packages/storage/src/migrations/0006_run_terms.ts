/** Stores what bounds a run: the digests of sets of rules, each of which is stored once. */
import { migration } from "../internal/migration.ts"

export const runTerms = migration(({ text }) => [
  `CREATE TABLE ruleset (digest ${text} PRIMARY KEY, data ${text} NOT NULL)`,
  `ALTER TABLE run ADD COLUMN terms ${text}`
])
