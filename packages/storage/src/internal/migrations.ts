/** Lists all migrations in order; both databases apply the same ones. */
import type { ResolvedMigration } from "@effect/sql/Migrator"
import * as Effect from "effect/Effect"

/**
 * Number, name and statements of each. The schema version of a database is the number of applied migrations. The
 * modules are loaded only when one is missing.
 */
export const migrations: ReadonlyArray<ResolvedMigration> = [
  [1, "tables", Effect.promise(async () => (await import("../migrations/0001_tables.ts")).tables)],
  [2, "mail", Effect.promise(async () => (await import("../migrations/0002_mail.ts")).mail)],
  [
    3,
    "tree_approvals",
    Effect.promise(async () => (await import("../migrations/0003_tree_approvals.ts")).treeApprovals)
  ],
  [4, "tree_numbers", Effect.promise(async () => (await import("../migrations/0004_tree_numbers.ts")).treeNumbers)],
  [5, "receipts", Effect.promise(async () => (await import("../migrations/0005_receipts.ts")).receipts)],
  [6, "run_terms", Effect.promise(async () => (await import("../migrations/0006_run_terms.ts")).runTerms)],
  [
    7,
    "approval_host",
    Effect.promise(async () => (await import("../migrations/0007_approval_host.ts")).approvalHost)
  ],
  [8, "control", Effect.promise(async () => (await import("../migrations/0008_control.ts")).control)]
]
