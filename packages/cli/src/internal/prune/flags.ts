/** The flags of `skein sessions prune`. */
import type { Flags } from "../../CommandSpec.ts"
import { databaseFlags, directoryFlags, formatFlags, verboseFlags } from "../sharedFlags.ts"

/** The flags of `skein sessions prune`. */
export const pruneFlags = {
  ...formatFlags,
  "older-than": {
    type: "text",
    value: "AGE",
    description: "Also removes sessions unchanged for that long, such as 36h, 90d or 12w"
  },
  all: { type: "switch", description: "With --older-than: sessions of all projects, not just this one" },
  "dry-run": { type: "switch", description: "Shows what would be removed, and removes nothing" },
  vacuum: { type: "switch", description: "Compacts a SQLite file, which frees disk space" },
  ...directoryFlags,
  ...databaseFlags,
  ...verboseFlags
} as const satisfies Flags
