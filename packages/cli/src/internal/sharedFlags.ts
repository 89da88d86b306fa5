/** The flags that many commands have. */
import type { Flags } from "../CommandSpec.ts"

/** How a listing is printed. */
export const formatFlags = {
  format: { type: "choice", choices: ["default", "json"], description: "default: for people; json: one JSON value" }
} as const satisfies Flags

/** How a listing is printed, and how wide. */
export const listingFlags = {
  ...formatFlags,
  full: { type: "switch", description: "Shows long values whole, also on a terminal" }
} as const satisfies Flags

/** For commands that read the database. */
export const databaseFlags = {
  db: {
    type: "text",
    value: "FILE",
    completes: "file",
    description: "The database, a SQLite file or a postgres:// URL; otherwise SKEIN_DB, or the usual"
  }
} as const satisfies Flags

/** For commands whose answer depends on the directory. */
export const directoryFlags = {
  dir: {
    type: "text",
    value: "PATH",
    completes: "directory",
    description: "Looks from this directory instead of the current one"
  }
} as const satisfies Flags

/** For every command. */
export const verboseFlags = {
  verbose: { type: "switch", description: "Logs to standard error, and shows the causes of errors" },
  "log-format": { type: "choice", choices: ["text", "json"], description: "How each line of the log is written" }
} as const satisfies Flags
