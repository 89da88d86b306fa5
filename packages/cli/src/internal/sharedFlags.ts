/** The flags that many commands have. */
import type { Flags } from "../CommandSpec.ts"

/** How a listing is printed. */
export const formatFlags = {
  format: { type: "choice", choices: ["default", "json"], description: "default: for people; json: one JSON value" }
} as const satisfies Flags

/** How a listing is printed, and how wide. */
export const listingFlags = {
  ...formatFlags,
  full: { type: "switch", description: "Does not truncate long values on a terminal" }
} as const satisfies Flags

/** For commands that read the database. */
export const databaseFlags = {
  db: {
    type: "text",
    value: "FILE",
    completes: "file",
    description: "The database: a SQLite file or a postgres:// URL; by default SKEIN_DB"
  }
} as const satisfies Flags

/** For commands whose answer depends on the directory. */
export const directoryFlags = {
  dir: {
    type: "text",
    value: "PATH",
    completes: "directory",
    description: "Uses this directory instead of the current one"
  }
} as const satisfies Flags

/** For every command. */
export const verboseFlags = {
  verbose: { type: "switch", description: "Logs to standard error, and shows the causes of errors" },
  "log-format": { type: "choice", choices: ["text", "json"], description: "The format of the log" }
} as const satisfies Flags
