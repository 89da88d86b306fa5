/** The flags of `skein sessions prune`. */
import type { Flags } from "../../CommandSpec.ts"
import { databaseFlags, directoryFlags, formatFlags, verboseFlags } from "../sharedFlags.ts"

/** The flags of `skein sessions prune`. */
export const pruneFlags = {
  ...formatFlags,
  "older-than": {
    type: "text",
    value: "AGE",
    description: "Also removes sessions that were not changed for so long, such as 36h, 90d or 12w"
  },
  all: { type: "switch", description: "With --older-than: sessions of all projects, not only of this one" },
  "dry-run": { type: "switch", description: "Says what would be removed, and removes nothing" },
  vacuum: { type: "switch", description: "Writes a SQLite file anew, so that it takes no more room than it needs" },
  ...directoryFlags,
  ...databaseFlags,
  ...verboseFlags
} as const satisfies Flags
