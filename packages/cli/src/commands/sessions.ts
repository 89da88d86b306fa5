/** Declares `skein sessions`. */
import { command } from "../CommandSpec.ts"
import {
  attachFlags,
  databaseFlags,
  directoryFlags,
  formatFlags,
  listingFlags,
  promptFlags,
  pruneFlags,
  verboseFlags
} from "../internal/flags.ts"

/** Removes what is old. */
const prune = command({
  name: "prune",
  summary: "Removes old events, long tool outputs and, with --older-than, sessions",
  details: "Skein keeps events and long tool outputs for 30 days. `skein run` prunes them once a day.",
  flags: pruneFlags,
  load: () => import("../internal/prune/execute.ts").then(({ executePrune }) => executePrune)
})

const load = () => import("../internal/list/sessions.ts")

const listFlags = {
  ...listingFlags,
  all: { type: "switch", description: "Lists the sessions of all projects" },
  limit: { type: "count", description: "The maximum number; 50 by default" },
  ...directoryFlags,
  ...databaseFlags,
  ...attachFlags,
  ...verboseFlags
} as const

const list = command({
  name: "list",
  summary: "Lists the sessions of this project, newest first",
  flags: listFlags,
  load: () => load().then(({ listSessions }) => listSessions)
})

const show = command({
  name: "show",
  summary: "Shows the conversation of a session",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: {
    ...formatFlags,
    full: { type: "switch", description: "Shows the whole arguments and outputs of calls" },
    ...databaseFlags,
    ...attachFlags,
    ...verboseFlags
  },
  load: () => load().then(({ showSession }) => showSession)
})

const resume = command({
  name: "resume",
  summary: "Continues a session, as `skein run --session ID` does",
  details: "Without a prompt, it continues interrupted turns and tasks.",
  operands: { usage: "ID [prompt…]", least: 1, most: Infinity },
  flags: promptFlags,
  load: () => import("../internal/run/execute.ts").then(({ resumeSession }) => resumeSession)
})

const stop = command({
  name: "stop",
  summary: "Stops what runs in a session, with everything below it",
  details:
    "What it did so far is kept; `skein sessions resume ID` continues it. Says so if nothing was running.\nAlso stops what a server of this database or another terminal works on. --attach names another server.\n`skein tasks stop` stops one task.",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: { ...formatFlags, ...databaseFlags, ...attachFlags, ...verboseFlags },
  load: () => import("../internal/list/sessions.ts").then(({ stopSession }) => stopSession)
})

const summarize = command({
  name: "summarize",
  summary: "Has a model summarise a session, and stores the summary",
  details:
    "Sends one request to the model of agent.summary, else to small_model, else to the session's model.\n`summaries` in skein.json does it after each turn that changed files.",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: { ...formatFlags, ...databaseFlags, ...attachFlags, ...verboseFlags },
  load: () => load().then(({ summarizeSession }) => summarizeSession)
})

const compact = command({
  name: "compact",
  summary: "Has a model summarise a long conversation, so that less of it is sent",
  details: "All messages stay stored. Skein does this automatically when a conversation nears its model's limit.",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: { ...formatFlags, ...databaseFlags, ...attachFlags, ...verboseFlags },
  load: () => load().then(({ compactSession }) => compactSession)
})

const rename = command({
  name: "rename",
  summary: "Renames a session",
  operands: { usage: "ID TITLE…", least: 2, most: Infinity },
  flags: { ...databaseFlags, ...attachFlags, ...verboseFlags },
  load: () => load().then(({ renameSession }) => renameSession)
})

const mode = command({
  name: "mode",
  summary: "Changes how much a session may do without a question, with everything below it",
  details:
    "plan: changes nothing but plan files. ask: asks before edits. edits: edits the project without asking.\nauto: asks nothing, and denies what only a person may allow.",
  operands: { usage: "ID plan|ask|edits|auto", least: 2, most: 2 },
  flags: { ...databaseFlags, ...attachFlags, ...verboseFlags },
  load: () => load().then(({ setMode }) => setMode)
})

const remove = command({
  name: "delete",
  summary: "Deletes a session and all sessions below it",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: { ...databaseFlags, ...attachFlags, ...verboseFlags },
  load: () => load().then(({ deleteSession }) => deleteSession)
})

const fork = command({
  name: "fork",
  summary: "Starts a new session with a copy of a conversation",
  details: "The copy has the same agent, model, rules and limits, and no usage. Sessions of subagents are not copied.",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: {
    at: {
      type: "text",
      value: "MESSAGE",
      description: "The last message to copy; `skein sessions show ID --format json` lists the ids"
    },
    ...databaseFlags,
    ...attachFlags,
    ...verboseFlags
  },
  load: () => load().then(({ forkSession }) => forkSession)
})

const loadArchives = () => import("../internal/list/archives.ts")

const exportArchive = command({
  name: "export",
  summary: "Exports a session with its whole tree as one JSON document",
  details: "Name any session of the tree. Exits with 1 if a part could not be read.",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: {
    output: {
      type: "text",
      value: "FILE",
      completes: "file",
      description: "Writes to this new file instead of standard output; never overwrites a file"
    },
    ...databaseFlags,
    ...verboseFlags
  },
  load: () => loadArchives().then(({ exportSession }) => exportSession)
})

const importArchive = command({
  name: "import",
  summary: "Imports what `skein sessions export` wrote, all or nothing",
  details: "`-` reads standard input. Everything is checked before anything is stored.",
  operands: { usage: "FILE|-", least: 1, most: 1 },
  flags: {
    "as-copy": { type: "switch", description: "Gives everything new ids, so that the original may exist here too" },
    dir: {
      type: "text",
      value: "PATH",
      completes: "directory",
      description: "The new working directory of the sessions"
    },
    ...databaseFlags,
    ...verboseFlags
  },
  load: () => loadArchives().then(({ importSession }) => importSession)
})

/** Lists, shows, resumes and stops sessions. */
export const sessions = command({
  name: "sessions",
  summary: "Lists, shows, resumes, stops, forks, exports and deletes sessions",
  flags: listFlags,
  commands: [
    list,
    show,
    resume,
    stop,
    summarize,
    compact,
    rename,
    mode,
    fork,
    exportArchive,
    importArchive,
    remove,
    prune
  ],
  load: () => load().then(({ listSessions }) => listSessions)
})
