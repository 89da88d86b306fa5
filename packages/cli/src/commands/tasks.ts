/** Declares `skein tasks`. */
import { command } from "../CommandSpec.ts"
import { databaseFlags, directoryFlags, formatFlags, listingFlags, verboseFlags } from "../internal/sharedFlags.ts"

const load = () => import("../internal/list/tasks.ts")

const listFlags = { ...listingFlags, ...directoryFlags, ...databaseFlags, ...verboseFlags } as const

const list = command({
  name: "list",
  summary: "Lists the tasks below a session, or below the newest one of this project",
  operands: { usage: "[SESSION]", least: 0, most: 1 },
  flags: listFlags,
  load: () => load().then(({ listTasks }) => listTasks)
})

const show = command({
  name: "show",
  summary: "Shows what a task was asked, and how each of its runs ended",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: { ...formatFlags, ...databaseFlags, ...verboseFlags },
  load: () => load().then(({ showTask }) => showTask)
})

const wait = command({
  name: "wait",
  summary: "Waits until tasks have settled, whoever runs them; exits with 1 if one did not complete",
  operands: { usage: "ID…", least: 1, most: Infinity },
  flags: {
    timeout: { type: "duration", description: "How long to wait, such as 90s, 30m or 1h; 10 minutes otherwise" },
    ...databaseFlags,
    ...verboseFlags
  },
  load: () => load().then(({ waitForTasks }) => waitForTasks)
})

const loadMail = () => import("../internal/list/taskMail.ts")

const send = command({
  name: "send",
  summary: "Says something to a task that is at work; it reads that at its next step",
  operands: { usage: "ID MESSAGE…", least: 2, most: Infinity },
  flags: { ...databaseFlags, ...verboseFlags },
  load: () => loadMail().then(({ sendToTask }) => sendToTask)
})

const stop = command({
  name: "stop",
  summary: "Asks a task to come to its end: it may conclude, and its caller gets what there is",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: {
    reason: { type: "text", value: "TEXT", description: "Why; the subagent and its caller are told" },
    ...databaseFlags,
    ...verboseFlags
  },
  load: () => loadMail().then(({ stopTask }) => stopTask)
})

const clean = command({
  name: "clean",
  summary: "Removes worktrees that tasks have left, but none with work that is nowhere else",
  flags: {
    "dry-run": { type: "switch", description: "Only says what would be removed, and what is kept" },
    force: { type: "switch", description: "Also removes those with work that is nowhere else" },
    ...databaseFlags,
    ...verboseFlags
  },
  load: () => import("../internal/list/worktrees.ts").then(({ cleanWorktrees }) => cleanWorktrees)
})

/** Lists and shows tasks, speaks to them, stops and awaits them, and clears away what they left. */
export const tasks = command({
  name: "tasks",
  summary: "Lists, shows, steers, stops and awaits tasks, and clears up after them",
  flags: listFlags,
  commands: [list, show, send, stop, wait, clean],
  load: () => load().then(({ listTasks }) => listTasks)
})
