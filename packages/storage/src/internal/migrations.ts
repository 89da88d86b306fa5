/** Lists all migrations in order; both databases apply the same ones. */
import type { ResolvedMigration } from "@effect/sql/Migrator"
import * as Effect from "effect/Effect"

const names = [
  "tables",
  "mail",
  "tree_approvals",
  "tree_numbers",
  "receipts",
  "run_terms",
  "approval_host",
  "control"
] as const

/**
 * Number, name and statements of each. The schema version of a database is the number of applied migrations. The
 * statements are loaded only when one is missing.
 */
export const migrations: ReadonlyArray<ResolvedMigration> = names.map((name, at) => [
  at + 1,
  name,
  Effect.promise(async () => (await import("./schema.ts")).schema[name])
])
