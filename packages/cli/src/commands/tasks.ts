/**
 * `skein tasks`: lists, shows, awaits, steers and stops tasks. It reads the storage, and asks the process that runs a task at
 * its server or through the database, so it works from any process.
 */
import * as FileSystem from "@effect/platform/FileSystem"
import { askHolder, isHeld, leaveRequest, refusals } from "@skein/core/Control"
import { Isolation, type Leftover } from "@skein/core/Isolation"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import { messagesPage } from "@skein/core/StorageFilter"
import { formatAmount } from "@skein/domain/Budget"
import { Ids, type RunID, type SessionID } from "@skein/domain/Id"
import { reason, type TaskRun, worktreeText } from "@skein/domain/Outcome"
import type { Part } from "@skein/domain/Part"
import { none, since, type Usage } from "@skein/domain/Usage"
import * as NodeOwner from "@skein/tools/NodeOwner"
import { escapeLine, escapeText } from "@skein/tui/Escape"
import { formatCost, formatCount, formatDuration } from "@skein/view/Numbers"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { command, group, type Input } from "../CommandSpec.ts"
import { ExitCode, UsageError } from "../ExitCode.ts"
import { storage } from "../internal/app.ts"
import { findServer } from "../internal/attach/attach.ts"
import { changeable, readable, serverBackend } from "../internal/attach/database.ts"
import { databaseFlags, directoryFlags, formatFlags, listingFlags, placeFlags } from "../internal/flags.ts"
import { sessionOf, stored } from "../internal/ids.ts"
import { directoryOf, projectOf } from "../internal/place.ts"
import { printJson, printLine, printList, usageText, warn } from "../internal/print.ts"
import { awaitedHost, continueText, howToResume, isLeft } from "../internal/where.ts"
import { cleaned, isolation } from "../internal/worktrees.ts"
import { Stdio } from "../Stdio.ts"

const waitsForModel = "waits for the model"

const nameOf = ({ state, tool }: Extract<Part, { readonly type: "tool" }>): string =>
  "title" in state && state.title !== undefined ? `${tool} ${state.title}` : tool

const ofTasks = (ids: ReadonlyArray<string>): string =>
  `waits for ${ids.length} ${ids.length === 1 ? "task" : "tasks"} of its own: ${ids.join(", ")}`

const ofParts = (parts: ReadonlyArray<Part>, now: number): string => {
  const last = parts.at(-1)
  if (last?.type === "retry" && last.next > now) {
    return `tries the model again at ${
      new Date(last.next).toISOString()
    } (attempt ${last.attempt} failed): ${last.error.message}`
  }
  const calls = parts.flatMap((part) => part.type === "tool" ? [part] : [])
  const running = calls.filter(({ state }) => state.status === "running").map(nameOf)
  if (running.length > 0) return `runs ${running.join(", ")}`
  // A call that needs no answer from a person is stored with the model's answer.
  const pending = calls.filter(({ state }) => state.status === "pending").map(nameOf)
  return pending.length > 0 ? `waits for a person to allow ${pending.join(", ")}` : waitsForModel
}

/** The limits that model requests wait for. */
const requested = ["tokens", "usd", "steps"] as const

/**
 * The budgets that apply to a session, the nearest first, such as `16000 of 20000 tokens are used by ses_1 and all
 * below it`.
 */
const budgetsOf = (id: SessionID): Effect.Effect<ReadonlyArray<string>, StorageError, SessionStorage> =>
  Effect.gen(function*() {
    const store = yield* SessionStorage
    const session = Option.getOrUndefined(yield* store.session(id))
    if (session === undefined) return []
    const { budget, parentID } = session
    const above = parentID === undefined ? [] : yield* budgetsOf(parentID)
    const own = requested.flatMap((bound) => {
      const limit = budget?.limit[bound]
      return budget === undefined || limit === undefined
        ? []
        : [`${budget.spent[bound]} of ${formatAmount(bound, limit)} are used by ${id} and all below it`]
    })
    return [...own, ...above]
  })

/**
 * Otherwise a task waits for the model. If it has a budget, its request may also wait for what others have reserved.
 */
const orForBudget = Effect.fnUntraced(function*(taskID: SessionID, doing: string) {
  if (doing !== waitsForModel) return doing
  const budgets = yield* budgetsOf(taskID)
  return budgets.length === 0 ? doing : `${doing}, or for budget that others have reserved: ${budgets.join("; ")}`
})

/** The answer that an agent works on is among so many of its newest messages. */
const few = 20

/** In a few words, such as `waits for the model`. */
const waitsFor = Effect.fnUntraced(function*({ state, taskID, time }: TaskRun, now: number) {
  const store = yield* SessionStorage
  if (state === "queued") return "waits for its turn"
  const below = (yield* store.runs({ parentID: taskID })).rows.filter((run) => run.state !== "settled")
  const { rows } = yield* store.messagePage(taskID, { ...messagesPage, limit: few })
  const last = rows.findLast(({ info }) =>
    info.role === "assistant" && info.time.created >= (time.started ?? time.created)
  )
  const parts = last?.parts ?? []
  const others = parts.some((part) =>
    part.type === "tool" && part.tool !== "task" && part.state.status !== "completed"
    && part.state.status !== "error"
  )
  if (below.length > 0 && !others) return ofTasks([...new Set(below.map((run) => run.taskID))])
  return yield* orForBudget(taskID, ofParts(parts, now))
})

/** How often the storage is polled while waiting for a task, in milliseconds. */
const pace = 250

/** How long `skein tasks wait` waits by default, in milliseconds. */
const patience = 10 * 60_000

/** How long a server may take to be started again, in milliseconds. */
const restart = 30_000

const noTask = (id: string) => new UsageError({ message: `There is no task ${escapeLine(id)}. See \`skein tasks\`.` })

const stateOf = ({ background, outcome, state, stop }: TaskRun, wasLeft = false): string =>
  `${outcome?.status ?? (wasLeft ? "interrupted" : stop === undefined ? state : "stopping")}${
    background ? " (background)" : ""
  }`

const timeOf = ({ outcome, time }: TaskRun, now: number): string =>
  formatDuration(outcome?.durationMs ?? Math.max(0, now - time.created))

const leftText = (rootID: SessionID): string =>
  `its process has ended or is suspended, and no other has taken over. Continue with: ${howToResume(rootID)}`

/** Whether a run has no outcome, and no process that could settle it. */
const wasLeft = ({ rootID, state }: TaskRun) => state === "settled" ? Effect.succeed(false) : isLeft(rootID)

const listFlags = {
  ...listingFlags,
  all: { type: "switch", description: "Lists the tasks of all sessions of the database, newest first" },
  limit: { type: "count", description: "The maximum number with --all; 50 by default" },
  ...directoryFlags,
  ...placeFlags
} as const

/** The runs to list, how deep each is nested, and what to say if there are none. */
const listed = Effect.fnUntraced(
  function*({ flags: { all, dir, limit = 50 }, operands: [given] }: Input<typeof listFlags>) {
    const store = yield* SessionStorage
    const depths = new Map<string, number>()
    if (all) {
      if (given !== undefined) {
        return yield* new UsageError({
          message: `--all lists the tasks of all sessions: leave ${escapeLine(given)} out.`
        })
      }
      const { rows } = yield* store.runs({ newest: { limit } })
      return { runs: rows.toReversed(), depths, empty: "There are no tasks yet." }
    }
    const projectID = yield* Effect.flatMap(directoryOf(dir), projectOf)
    const named = given === undefined ? undefined : yield* sessionOf(given)
    const { rows: [newest] } = yield* store.sessions({ projectID, roots: true, limit: 1 })
    const rootID = named?.rootID ?? newest?.id
    if (rootID === undefined) {
      return { runs: [], depths, empty: `There are no sessions in ${escapeLine(projectID)} yet, and so no tasks.` }
    }
    for (const { depth, id } of (yield* store.sessions({ rootID })).rows) depths.set(id, depth)
    return { runs: (yield* store.runs({ rootID })).rows, depths, empty: `The session ${rootID} has started no tasks.` }
  }
)

/** What the runs that have not settled have used so far, with everything below them. */
const usedUntilNow = Effect.fnUntraced(function*(runs: ReadonlyArray<TaskRun>) {
  const store = yield* SessionStorage
  const found = new Map<string, Usage>()
  for (const { before, id, outcome, taskID } of runs) {
    if (outcome !== undefined) continue
    const session = yield* store.session(taskID)
    if (Option.isSome(session)) found.set(id, since(before ?? none, session.value.usage.subtree))
  }
  return found
})

const list = command({
  name: "list",
  summary: "Lists the tasks below a session, by default the newest of this project",
  operands: "[SESSION]",
  flags: listFlags,
  run: (input) =>
    Effect.gen(function*() {
      const { flags } = input
      const { depths, empty, runs } = yield* listed(input)
      const used = yield* usedUntilNow(runs)
      const now = yield* Clock.currentTimeMillis
      const open = runs.filter(({ state }) => state !== "settled").map(({ rootID }) => rootID)
      const left = new Set(yield* Effect.filter([...new Set(open)], isLeft))
      for (const rootID of flags.format === "default" ? left : []) {
        const host = yield* awaitedHost(rootID)
        if (host !== undefined) (yield* Stdio).err(continueText(rootID, host))
      }
      const items = runs.map((run) => ({
        ...run,
        usage: run.outcome?.usage ?? used.get(run.id) ?? none,
        interrupted: run.state !== "settled" && left.has(run.rootID)
      }))
      yield* printList(flags, {
        items,
        json: items.map(({ interrupted, usage: _usage, ...run }) => interrupted ? { ...run, interrupted } : run),
        columns: {
          TASK: ({ taskID }) => taskID,
          ROOT: flags.all && (({ rootID }) => rootID),
          STATE: (run) => stateOf(run, run.interrupted),
          AGENT: ({ agent }) => agent,
          TIME: (run) => timeOf(run, now),
          STEPS: ({ usage }) => String(usage.steps),
          TOKENS: ({ usage: { tokens } }) => formatCount(tokens.input + tokens.output),
          COST: ({ usage: { cost } }) => formatCost(cost),
          DESCRIPTION: ({ description, taskID }) =>
            `${"  ".repeat(Math.max(0, (depths.get(taskID) ?? 1) - 1))}${description}`
        },
        empty
      })
    }).pipe(Effect.provide(NodeOwner.layer), Effect.provide(readable(input.flags)))
})

const worktreeAtEnd = ({ outcome }: TaskRun): string =>
  outcome?.worktree === undefined ? "" : `\nWhen it ended: ${escapeLine(worktreeText(outcome.worktree))}\n`

/** A run, with its prompt and how it ended. `worktree` says where it left its work. */
const runText = (run: TaskRun, now: number, isLeftOver = false, worktree = worktreeAtEnd(run)): string => {
  const { outcome } = run
  const head = `--- ${run.id}  ${stateOf(run, isLeftOver)}  ${timeOf(run, now)}${
    outcome === undefined ? "" : `  ${usageText(outcome.usage)}`
  }\n${escapeText(run.prompt.trim())}\n`
  if (outcome === undefined) {
    return `${head}\n(not settled: ${isLeftOver ? leftText(run.rootID) : "a process works on it"})\n`
  }
  const why = outcome.status === "completed" ? "" : `\n! ${escapeText(reason(outcome))}\n`
  return `${head}${why}${outcome.text === "" ? "" : `\n${escapeText(outcome.text)}\n`}${worktree}`
}

/** What the worktree of a task holds now, or held at the end of its last run where this machine cannot tell; else empty. */
const worktreeLine = Effect.fnUntraced(function*(runs: ReadonlyArray<TaskRun>) {
  const run = runs.findLast(({ outcome }) => outcome?.worktree !== undefined)
  const left = run?.outcome?.worktree
  if (run === undefined || left === undefined) return ""
  const { directory } = left
  const atEnd = worktreeAtEnd(run)
  if ((yield* serverBackend) !== undefined || (yield* awaitedHost(run.rootID)) !== undefined) return atEnd
  const isThere = yield* Effect.flatMap(
    FileSystem.FileSystem,
    (fs) => Effect.orElseSucceed(fs.exists(directory), () => true)
  )
  if (!isThere) return `\nIts worktree ${escapeLine(directory)} was removed.\n`
  const worktrees = yield* Isolation
  const found = (yield* Effect.orElseSucceed(worktrees.list, () => [])).find(({ taskID }) => taskID === run.taskID)
  if (found === undefined || found.changes === "unknown") return atEnd
  return found.changes === "none"
    ? `\nNothing is left in its worktree ${escapeLine(directory)}.\n`
    : `\n${escapeLine(worktreeText({ ...left, ...found.changes }, found.changes.onlyHere === 0))}\n`
})

const isOfRun = (given: string): boolean => given.startsWith("run_")

/** The runs that an id means: those of a task, oldest first, or a single one. */
const runsOf = Effect.fnUntraced(function*(given: string) {
  const store = yield* SessionStorage
  if (isOfRun(given)) {
    const runID = yield* stored("runs", given)
    const run = runID === undefined ? Option.none() : yield* store.run(runID as RunID)
    return Option.isSome(run) ? [run.value] as const : yield* noTask(given)
  }
  const taskID = yield* stored("tasks", given)
  const [first, ...more] = taskID === undefined ? [] : (yield* store.runs({ taskID: taskID as SessionID })).rows
  return first === undefined ? yield* noTask(given) : [first, ...more] as const
})

/** The newest of the runs that an id means. */
const newestRun = (id: string) => Effect.map(runsOf(id), (runs) => runs.at(-1) ?? runs[0])

const show = command({
  name: "show",
  summary: "Shows the prompt of a task, and how each of its runs ended",
  operands: "ID",
  flags: { ...formatFlags, ...placeFlags },
  run: ({ flags, operands: [id = ""] }) =>
    Effect.gen(function*() {
      const { out } = yield* Stdio
      const runs = yield* runsOf(id)
      if (flags.format === "json") return yield* printJson(runs)
      const [first] = runs
      const now = yield* Clock.currentTimeMillis
      out(`${escapeLine(first.description)} (${first.agent})\n${first.taskID} of ${first.parentID}\n\n`)
      const texts = yield* Effect.forEach(runs, (run) =>
        run.outcome === undefined
          ? Effect.zipWith(
            waitsFor(run, now),
            wasLeft(run),
            (doing, isLeftOver) => `${runText(run, now, isLeftOver)}According to storage, it ${escapeLine(doing)}.\n`
          )
          : Effect.succeed(runText(run, now, false, "")))
      out(texts.join("\n") + (yield* worktreeLine(runs)))
    }).pipe(Effect.provide(NodeOwner.layer), Effect.provide(isolation), Effect.provide(readable(flags)))
})

/** Polls the storage until the tasks have settled, and prints the outcome of each. */
const wait = command({
  name: "wait",
  summary: "Waits until tasks have settled; exits with 1 if one did not complete",
  operands: "ID…",
  flags: {
    timeout: { type: "duration", description: "How long to wait, such as 90s, 30m or 1h; 10 minutes by default" },
    ...placeFlags
  },
  run: ({ flags, operands }) =>
    Effect.gen(function*() {
      const stdio = yield* Stdio
      const ids = yield* Effect.forEach(operands, (given) =>
        Effect.map(newestRun(given), ({ id, taskID }) => isOfRun(given) ? id : taskID))
      // As a run does, it waits for a server that is being restarted.
      const server = yield* findServer(flags, stdio.err)
      if (server !== undefined) {
        stdio.err(`server: ${server.server.url}`)
      }
      const settled = (id: string) => {
        let leftAt: number | undefined
        const look = Effect.gen(function*() {
          const run = yield* newestRun(id)
          const now = yield* Clock.currentTimeMillis
          if (!(yield* wasLeft(run))) {
            leftAt = undefined
          } else if (server === undefined || now - (leftAt ?? now) >= restart) {
            return yield* new UsageError({ message: `The task ${id} does not settle: ${leftText(run.rootID)}` })
          } else {
            if (leftAt === undefined) {
              stdio.err(`The server at ${server.server.url} has ended. Waiting for one that continues the task ${id}.`)
            }
            leftAt ??= now
          }
          yield* Effect.sleep(pace)
          return run
        })
        return Effect.repeat(look, {
          until: (run) =>
            run.state === "settled"
        })
      }
      const waited = Effect.forEach(ids, settled, { concurrency: "unbounded" })
      const found = yield* Effect.timeoutOption(waited, flags.timeout ?? patience)
      if (Option.isNone(found)) {
        yield* warn("The time is up, and not all tasks have settled. `skein tasks` shows them.")
        return ExitCode.limit
      }
      const now = yield* Clock.currentTimeMillis
      const texts = yield* Effect.forEach(found.value, (run) =>
        Effect.map(worktreeLine([run]), (line) =>
          runText(run, now, false, line)))
      stdio.out(texts.join("\n"))
      const isDone = found.value.every(({ outcome }) =>
        outcome?.status === "completed"
      )
      return isDone ? ExitCode.done : ExitCode.failed
    }).pipe(Effect.provide(NodeOwner.layer), Effect.provide(isolation), Effect.provide(readable(flags)))
})

const placeOf = ({ rootID, taskID }: TaskRun) => ({ id: taskID, rootID })

const send = command({
  name: "send",
  summary: "Sends a message to a running task, which reads it at its next step",
  operands: "ID MESSAGE…",
  flags: placeFlags,
  run: ({ flags, operands: [id = "", ...words] }) =>
    Effect.gen(function*() {
      const { out } = yield* Stdio
      const message = words.join(" ").trim()
      if (message === "") {
        return yield* new UsageError({ message: "There is no message. Write it after the id of the task." })
      }
      const run = yield* newestRun(id)
      const { outcome, parentID, taskID } = run
      if (run.state === "settled") {
        return yield* new UsageError({
          message:
            `The task ${taskID} is not at work: it has settled (${outcome?.status}). Continue it with \`skein run -s ${taskID}\`, or its caller with \`skein sessions resume ${parentID}\`.`
        })
      }
      const server = yield* serverBackend
      const request = { type: "task_message", message: message.toWellFormed() } as const
      const told = server === undefined
        ? yield* askHolder(placeOf(run), request, refusals.task)
        : (yield* server.tasks.message(taskID, message)).status
      if (told === undefined) {
        yield* leaveRequest(placeOf(run), request)
        yield* warn(
          `No process answers for the task ${taskID}: it may have ended. The message is kept, and read when the task continues.`
        )
        return ExitCode.failed
      }
      out(
        server === undefined || told === "steered"
          ? `The task ${taskID} reads it at its next step.\n`
          : `The task ${taskID} had just settled, and starts again with it.\n`
      )
      return ExitCode.done
    }).pipe(Effect.provide(Ids.layer), Effect.provide(changeable(flags)))
})

const stop = command({
  name: "stop",
  summary: "Stops a task; it may conclude first, and its caller gets the partial result",
  operands: "ID",
  flags: {
    reason: { type: "text", value: "TEXT", description: "The reason, which the subagent and its caller read" },
    ...placeFlags
  },
  run: ({ flags: { reason: why, ...flags }, operands: [id = ""] }) =>
    Effect.gen(function*() {
      const { err, out } = yield* Stdio
      const run = yield* newestRun(id)
      const { taskID } = run
      if (run.state === "settled") {
        out(`The task ${taskID} was not at work: it has settled (${run.outcome?.status}).\n`)
        return ExitCode.done
      }
      const server = yield* serverBackend
      const request = { type: "task_stop", by: "the user", ...(why === undefined ? {} : { reason: why }) } as const
      const held = server !== undefined || (yield* isHeld(run.rootID))
      if (held) err(`The task ${taskID} is stopping: it has half a minute to conclude.`)
      if (server !== undefined) yield* server.tasks.stop(taskID, why)
      else if (!held || (yield* askHolder(placeOf(run), request, refusals.task)) === undefined) {
        yield* leaveRequest(placeOf(run), request)
        yield* warn(
          `No process answers for the task ${taskID}: it may have ended. The stop is kept, and holds when the task continues. See \`skein tasks show ${taskID}\`.`
        )
        return ExitCode.failed
      }
      out(runText(yield* newestRun(taskID), yield* Clock.currentTimeMillis))
      return ExitCode.done
    }).pipe(Effect.provide(Ids.layer), Effect.provide(changeable(flags)))
})

/** The contents of a worktree, for people. */
const contents = ({ changes }: Leftover): string => {
  if (changes === "none") return "no changes"
  if (changes === "unknown") return "unknown changes: its repository no longer exists"
  const { commits, uncommitted } = changes
  return `${commits} commit${commits === 1 ? "" : "s"}, ${uncommitted} uncommitted file${uncommitted === 1 ? "" : "s"}`
}

const lineOf = (what: string, leftover: Leftover): ReadonlyArray<string> => [
  what,
  leftover.directory,
  contents(leftover),
  leftover.origin?.description ?? ""
]

const ends = { at_work: "at work", kept: "kept", would_remove: "would be removed", removed: "removed" } as const

const clean = command({
  name: "clean",
  summary: "Removes the worktrees of tasks whose work also exists elsewhere, for example because it is merged",
  flags: {
    "dry-run": { type: "switch", description: "Shows what would be removed and kept, and removes nothing" },
    force: { type: "switch", description: "Also removes those with work that exists nowhere else" },
    ...databaseFlags
  },
  run: ({ flags }) =>
    Effect.gen(function*() {
      const stdio = yield* Stdio
      const found = yield* cleaned({ dryRun: flags["dry-run"], force: flags.force })
      if (found.length === 0) stdio.err("No task has left a worktree.")
      for (const each of found) {
        if (each.end === "failed") yield* warn(each.message ?? "")
        else printLine(stdio, lineOf(ends[each.end], each))
      }
      return found.some(({ end }) => end === "failed") ? ExitCode.failed : ExitCode.done
    }).pipe(Effect.provide(Layer.merge(storage, isolation)))
})

/** Lists, shows, steers, stops and awaits tasks, and removes their worktrees. */
export const tasks = group([list, show, send, stop, wait, clean])
