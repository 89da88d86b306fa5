/** The flags that commands share, and those whose values their implementation knows by name. */
import { longestTitle } from "@skein/domain/Typed"
import { type Flags, verboseFlags } from "../CommandSpec.ts"

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

/** For commands that can work through a server. */
export const placeFlags = {
  ...databaseFlags,
  attach: {
    type: "text",
    value: "auto|off|URL",
    description: "auto (default): uses a running server of this database; off: never; or server URL[,…]"
  }
} as const satisfies Flags

/** The flags of every command that prompts a session. */
export const promptFlags = {
  agent: { type: "text", value: "NAME", description: "The agent; see `skein agents`" },
  model: { type: "text", value: "PROVIDER/MODEL", short: "m", description: "The model; see `skein models`" },
  file: {
    type: "text",
    value: "PATH",
    short: "f",
    many: true,
    completes: "file",
    description: "Attaches a text file or an image; may be given several times"
  },
  dir: {
    type: "text",
    value: "PATH",
    completes: "directory",
    description: "Works in this directory instead of the current one"
  },
  format: {
    type: "choice",
    choices: ["default", "json", "quiet"],
    description: "default: progress and answer; json: one event per line; quiet: only the answer"
  },
  mode: {
    type: "choice",
    choices: ["plan", "ask", "edits", "auto"],
    isOptional: true,
    description: "How much it may do without asking; see `skein sessions mode --help`"
  },
  auto: { type: "switch", description: "The same as --mode auto; what is denied stays denied" },
  sandbox: {
    type: "choice",
    choices: ["auto", "on", "off"],
    isOptional: true,
    description: "Whether shell commands run in the sandbox; over SKEIN_SANDBOX and the config"
  },
  concurrency: { type: "count", description: "The maximum number of subagents that work at once" },
  "max-tasks": { type: "count", description: "The maximum number of tasks in the turn, at all levels together" },
  "max-steps": { type: "count", description: "The maximum number of steps before the agent must conclude" },
  "budget-usd": { type: "money", description: "The maximum cost of the session from now on, including its subagents" },
  "budget-tokens": {
    type: "count",
    description: "The maximum tokens of the session from now on, including its subagents"
  },
  "no-wait": {
    type: "switch",
    description: "Exits after the answer; background tasks are interrupted, or continue on a server"
  },
  timeout: { type: "duration", description: "The maximum time of the whole run, such as 90s, 30m or 1h" },
  ...placeFlags,
  ...verboseFlags
} as const satisfies Flags

/** The flags of `skein run`. */
export const runFlags = {
  ...promptFlags,
  session: { type: "text", value: "ID", short: "s", description: "Continues this session" },
  continue: { type: "switch", short: "c", description: "Continues the newest session of this project" },
  fork: { type: "switch", description: "Continues a copy of that session instead" },
  command: {
    type: "text",
    value: "NAME",
    description: "Runs this command with the prompt as its arguments; see `skein commands`"
  },
  title: {
    type: "text",
    value: "TEXT",
    most: longestTitle,
    description: `The title of a new session, or of the copy; at most ${longestTitle} characters`
  }
} as const satisfies Flags

/** Those about output, and about the end of the program, need one that prints an answer and exits. */
const { format: _format, "no-wait": _noWait, ...shared } = runFlags

/** The flags: all others of `skein run`, and its own. */
export const sessionFlags = {
  ...shared,
  plain: { type: "switch", description: "Prints lines and reads lines, for screen readers; so does TERM=dumb" },
  resume: { type: "switch", description: "Shows the sessions to choose from" }
} as const satisfies Flags

/** The flags of `skein acp`. */
export const acpFlags = {
  agent: promptFlags.agent,
  model: promptFlags.model,
  mode: promptFlags.mode,
  auto: promptFlags.auto,
  sandbox: promptFlags.sandbox,
  attach: promptFlags.attach,
  db: promptFlags.db,
  verbose: promptFlags.verbose,
  "log-format": promptFlags["log-format"]
} as const satisfies Flags

/** The flags of `skein serve`. */
export const serveFlags = {
  port: { type: "port", description: "The port; a free one by default" },
  hostname: {
    type: "text",
    value: "ADDRESS",
    description: "The address to listen on; 127.0.0.1 by default. Others need --token-file"
  },
  "public-url": {
    type: "text",
    value: "URL",
    description: "The address at which a proxy serves it, such as https://skein.example"
  },
  "token-file": {
    type: "text",
    value: "FILE",
    completes: "file",
    description: "Takes the token from this file instead of a new one"
  },
  open: { type: "switch", description: "Opens the page in a browser" },
  "no-resume": { type: "switch", description: "Leaves interrupted work alone" },
  cluster: { type: "switch", description: "Shares the PostgreSQL database with other servers, as one of them" },
  "cluster-secret-file": {
    type: "text",
    value: "FILE",
    completes: "file",
    description: "File with the cluster's secret; required if other machines can reach --hostname"
  },
  detach: { type: "switch", description: "Starts the server in the background" },
  url: { type: "switch", description: "Prints the URL of the running server, with a new login code" },
  stop: { type: "switch", description: "Ends the running server; the next one resumes its open turns" },
  ...databaseFlags
} as const satisfies Flags
