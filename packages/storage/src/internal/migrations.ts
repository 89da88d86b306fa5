/** Names all migrations; each database applies the same ones. */

/** The statements of a migration. */
export interface Migration {
  /** For every database, with the types of SQLite. */
  readonly statements: ReadonlyArray<string>
  /** For PostgreSQL besides. */
  readonly postgres?: ReadonlyArray<string>
}

/** All migrations in order; the schema of a database counts how many it has had. They are loaded only when one is missing. */
export const migrations: ReadonlyArray<() => Promise<Migration>> = [
  () => import("../migrations/0001_tables.ts"),
  () => import("../migrations/0002_mail.ts"),
  () => import("../migrations/0003_tree_approvals.ts"),
  () => import("../migrations/0004_tree_numbers.ts"),
  () => import("../migrations/0005_receipts.ts")
]
