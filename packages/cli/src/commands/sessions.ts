/** Declares `skein sessions`. */
import { command } from "../CommandSpec.ts"
import { promptFlags } from "../internal/run/flags.ts"
import { databaseFlags, directoryFlags, formatFlags, listingFlags, verboseFlags } from "../internal/sharedFlags.ts"
import { prune } from "./prune.ts"

const load = () => import("../internal/list/sessions.ts")

const listFlags = {
  ...listingFlags,
  all: { type: "switch", description: "Those of all projects, not only of this one" },
  limit: { type: "count", description: "How many at most; 50 otherwise" },
  ...directoryFlags,
  ...databaseFlags,
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
  summary: "Shows what was said in a session",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: { ...formatFlags, ...databaseFlags, ...verboseFlags },
  load: () => load().then(({ showSession }) => showSession)
})

const resume = command({
  name: "resume",
  summary: "Goes on with a session, as `skein run --session ID` does",
  details: "Without a prompt, it goes on with what a crash has left, or with a turn that was cut short.",
  operands: { usage: "ID [prompt…]", least: 1, most: Infinity },
  flags: promptFlags,
  load: () => import("../internal/run/resume.ts").then(({ resumeSession }) => resumeSession)
})

const summarize = command({
  name: "summarize",
  summary: "Has a model say what became of a session, and keeps it",
  details:
    "One request, to the model of agent.summary, of small_model, or of the session. `summaries` in skein.json asks for it.",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: { ...formatFlags, ...databaseFlags, ...verboseFlags },
  load: () => load().then(({ summarizeSession }) => summarizeSession)
})

const compact = command({
  name: "compact",
  summary: "Has a model summarise a long conversation, so that less of it is sent",
  details:
    "All that was said stays stored. It is done by itself where a conversation is nearly as long as its model reads.",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: { ...formatFlags, ...databaseFlags, ...verboseFlags },
  load: () => load().then(({ compactSession }) => compactSession)
})

const rename = command({
  name: "rename",
  summary: "Gives a session another title",
  operands: { usage: "ID TITLE…", least: 2, most: Infinity },
  flags: { ...databaseFlags, ...verboseFlags },
  load: () => load().then(({ renameSession }) => renameSession)
})

const remove = command({
  name: "delete",
  summary: "Removes a session and all below it",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: { ...databaseFlags, ...verboseFlags },
  load: () => load().then(({ deleteSession }) => deleteSession)
})

const fork = command({
  name: "fork",
  summary: "Begins another session with a copy of what was said in one",
  details:
    "The copy has the same agent, model, rules and limits, and has used nothing. Sessions of subagents are not copied.",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: {
    at: {
      type: "text",
      value: "MESSAGE",
      description: "The last message that is copied; `skein sessions show ID --format json` has their ids"
    },
    ...databaseFlags,
    ...verboseFlags
  },
  load: () => load().then(({ forkSession }) => forkSession)
})

const loadArchives = () => import("../internal/list/archives.ts")

const exportArchive = command({
  name: "export",
  summary: "Writes a session with its whole tree as one JSON document",
  details: "It is the tree of the root, whichever session is named. Exits with 1 if something of it could not be read.",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: {
    output: {
      type: "text",
      value: "FILE",
      completes: "file",
      description: "A new file in the place of standard output; one that is there is never written over"
    },
    ...databaseFlags,
    ...verboseFlags
  },
  load: () => loadArchives().then(({ exportSession }) => exportSession)
})

const importArchive = command({
  name: "import",
  summary: "Takes in what `skein sessions export` wrote, all or nothing",
  details: "`-` reads standard input. Everything is checked before anything is stored.",
  operands: { usage: "FILE|-", least: 1, most: 1 },
  flags: {
    "as-copy": { type: "switch", description: "Gives everything new ids, so that the original may be here as well" },
    dir: {
      type: "text",
      value: "PATH",
      completes: "directory",
      description: "Where the sessions work from now on, instead of the directory they come from"
    },
    ...databaseFlags,
    ...verboseFlags
  },
  load: () => loadArchives().then(({ importSession }) => importSession)
})

/** Lists, shows and resumes sessions. */
export const sessions = command({
  name: "sessions",
  summary: "Lists, shows and resumes sessions",
  flags: listFlags,
  commands: [list, show, resume, summarize, compact, rename, fork, exportArchive, importArchive, remove, prune],
  load: () => load().then(({ listSessions }) => listSessions)
})
