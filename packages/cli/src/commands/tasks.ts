/** Declares `skein tasks`. */
import { command } from "../CommandSpec.ts"
import {
  attachFlags,
  databaseFlags,
  directoryFlags,
  formatFlags,
  listingFlags,
  verboseFlags
} from "../internal/flags.ts"

const load = () => import("../internal/list/tasks.ts")

const listFlags = {
  ...listingFlags,
  all: { type: "switch", description: "Lists the tasks of all sessions of the database, newest first" },
  limit: { type: "count", description: "The maximum number with --all; 50 by default" },
  ...directoryFlags,
  ...databaseFlags,
  ...attachFlags,
  ...verboseFlags
} as const

const list = command({
  name: "list",
  summary: "Lists the tasks below a session, by default the newest of this project",
  operands: { usage: "[SESSION]", least: 0, most: 1 },
  flags: listFlags,
  load: () => load().then(({ listTasks }) => listTasks)
})

const show = command({
  name: "show",
  summary: "Shows the prompt of a task, and how each of its runs ended",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: { ...formatFlags, ...databaseFlags, ...attachFlags, ...verboseFlags },
  load: () => load().then(({ showTask }) => showTask)
})

const wait = command({
  name: "wait",
  summary: "Waits until tasks have settled; exits with 1 if one did not complete",
  operands: { usage: "ID…", least: 1, most: Infinity },
  flags: {
    timeout: { type: "duration", description: "How long to wait, such as 90s, 30m or 1h; 10 minutes by default" },
    ...databaseFlags,
    ...attachFlags,
    ...verboseFlags
  },
  load: () => load().then(({ waitForTasks }) => waitForTasks)
})

const loadMail = () => import("../internal/list/taskMail.ts")

const send = command({
  name: "send",
  summary: "Sends a message to a running task, which reads it at its next step",
  operands: { usage: "ID MESSAGE…", least: 2, most: Infinity },
  flags: { ...databaseFlags, ...attachFlags, ...verboseFlags },
  load: () => loadMail().then(({ sendToTask }) => sendToTask)
})

const stop = command({
  name: "stop",
  summary: "Stops a task; it may conclude first, and its caller gets the partial result",
  operands: { usage: "ID", least: 1, most: 1 },
  flags: {
    reason: { type: "text", value: "TEXT", description: "The reason, which the subagent and its caller read" },
    ...databaseFlags,
    ...attachFlags,
    ...verboseFlags
  },
  load: () => loadMail().then(({ stopTask }) => stopTask)
})

const clean = command({
  name: "clean",
  summary: "Removes the worktrees of tasks whose work also exists elsewhere, for example because it is merged",
  flags: {
    "dry-run": { type: "switch", description: "Shows what would be removed and kept, and removes nothing" },
    force: { type: "switch", description: "Also removes those with work that exists nowhere else" },
    ...databaseFlags,
    ...verboseFlags
  },
  load: () => import("../internal/list/worktrees.ts").then(({ cleanWorktrees }) => cleanWorktrees)
})

/** Lists, shows, steers, stops and awaits tasks, and removes their worktrees. */
export const tasks = command({
  name: "tasks",
  summary: "Lists, shows, steers, stops and awaits tasks; removes worktrees",
  flags: listFlags,
  commands: [list, show, send, stop, wait, clean],
  load: () => load().then(({ listTasks }) => listTasks)
})
