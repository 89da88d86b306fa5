/** Declares `skein sessions`. */
import { command } from "../CommandSpec.ts"
import { databaseFlags, directoryFlags, formatFlags, verboseFlags } from "./listing.ts"
import { promptFlags } from "./run.ts"

const load = () => import("../internal/list/sessions.ts")

const listFlags = {
  ...formatFlags,
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
  details: "Without a prompt, the agent is told to go on where it was.",
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

/** Lists, shows and resumes sessions. */
export const sessions = command({
  name: "sessions",
  summary: "Lists, shows and resumes sessions",
  flags: listFlags,
  commands: [list, show, resume, summarize, rename, remove],
  load: () => load().then(({ listSessions }) => listSessions)
})
