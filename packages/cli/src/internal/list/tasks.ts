/** What `skein tasks list`, `show` and `wait` do. They read the storage, so they work if another process runs the task. */
import * as FileSystem from "@effect/platform/FileSystem"
import { Isolation } from "@skein/core/Isolation"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import { messagesPage } from "@skein/core/StorageFilter"
import { formatAmount } from "@skein/domain/Budget"
import type { RunID, SessionID } from "@skein/domain/Id"
import { reason, type TaskRun, worktreeText } from "@skein/domain/Outcome"
import type { Part } from "@skein/domain/Part"
import { none, since, type Usage } from "@skein/domain/Usage"
import * as NodeOwner from "@skein/tools/NodeOwner"
import { escapeLine, escapeText } from "@skein/tui/Escape"
import { formatCount, formatDuration } from "@skein/view/Numbers"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { UsageError } from "../../UsageError.ts"
import { type AttachFlags, findServer } from "../attach/attach.ts"
import { isNamed, readable } from "../attach/database.ts"
import { errorLine } from "../explain.ts"
import { sessionOf, stored } from "../ids.ts"
import { directoryOf, projectOf } from "../place.ts"
import { printList } from "./print.ts"
import { awaitedHost, continueText, howToResume, isLeft } from "./where.ts"
import { isolation } from "./worktrees.ts"

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

const leftText = (rootID: SessionID): string =>
  `its process has ended or is suspended, and no other has taken over. Continue with: ${howToResume(rootID)}`

/** Whether a run has no outcome, and no process that could settle it. */
const wasLeft = ({ rootID, state }: TaskRun) => state === "settled" ? Effect.succeed(false) : isLeft(rootID)

interface ListInput {
  readonly flags: AttachFlags & {
    readonly all: boolean
    readonly limit: number | undefined
    readonly format: "default" | "json"
    readonly full: boolean
    readonly dir: string | undefined
  }
  readonly operands: ReadonlyArray<string>
}

/** The runs to list, how deep each is nested, and what to say if there are none. */
const listed = Effect.fnUntraced(function*({ flags: { all, dir, limit = 50 }, operands: [given] }: ListInput) {
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
})

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

/** Lists the tasks of a tree, or those of all. */
export const listTasks = (input: ListInput): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const { flags: { all, format, full } } = input
    const { depths, empty, runs } = yield* listed(input)
    const used = yield* usedUntilNow(runs)
    const usageOf = (run: TaskRun) => run.outcome?.usage ?? used.get(run.id) ?? none
    const now = yield* Clock.currentTimeMillis
    const open = runs.filter(({ state }) => state !== "settled").map(({ rootID }) => rootID)
    const left = new Set(yield* Effect.filter([...new Set(open)], isLeft))
    const isLeftOver = ({ rootID, state }: TaskRun) => state !== "settled" && left.has(rootID)
    for (const rootID of format === "default" ? left : []) {
      const host = yield* awaitedHost(rootID)
      if (host !== undefined) (yield* Stdio).err(continueText(rootID, host))
    }
    return yield* printList({
      format,
      full,
      json: runs.map((run) => isLeftOver(run) ? { ...run, interrupted: true } : run),
      head: ["TASK", ...(all ? ["ROOT"] : []), "STATE", "AGENT", "TIME", "STEPS", "TOKENS", "DESCRIPTION"],
      rows: runs.map((run) => [
        run.taskID,
        ...(all ? [run.rootID] : []),
        stateOf(run, isLeftOver(run)),
        run.agent,
        formatDuration(run.outcome?.durationMs ?? Math.max(0, now - run.time.created)),
        String(usageOf(run).steps),
        formatCount(usageOf(run).tokens.input + usageOf(run).tokens.output),
        `${"  ".repeat(Math.max(0, (depths.get(run.taskID) ?? 1) - 1))}${run.description}`
      ]),
      empty
    })
  }).pipe(Effect.provide(NodeOwner.layer), Effect.provide(readable(input.flags)))

const worktreeAtEnd = ({ outcome }: TaskRun): string =>
  outcome?.worktree === undefined ? "" : `\nWhen it ended: ${escapeLine(worktreeText(outcome.worktree))}\n`

/** A run, with its prompt and how it ended. `worktree` says where it left its work. */
export const runText = (run: TaskRun, now: number, isLeftOver = false, worktree = worktreeAtEnd(run)): string => {
  const { outcome } = run
  const head = `--- ${run.id}  ${stateOf(run, isLeftOver)}  ${
    formatDuration(run.outcome?.durationMs ?? Math.max(0, now - run.time.created))
  }\n${escapeText(run.prompt.trim())}\n`
  if (outcome === undefined) {
    return `${head}\n(not settled: ${isLeftOver ? leftText(run.rootID) : "a process works on it"})\n`
  }
  const why = outcome.status === "completed" ? "" : `\n! ${escapeText(reason(outcome))}\n`
  return `${head}${why}${outcome.text === "" ? "" : `\n${escapeText(outcome.text)}\n`}${worktree}`
}

/** What the worktree of a task holds now, or held at the end of its last run where this machine cannot tell; else empty. */
const worktreeLine = Effect.fnUntraced(function*(runs: ReadonlyArray<TaskRun>, flags: AttachFlags) {
  const run = runs.findLast(({ outcome }) => outcome?.worktree !== undefined)
  const left = run?.outcome?.worktree
  if (run === undefined || left === undefined) return ""
  const { directory } = left
  const atEnd = worktreeAtEnd(run)
  if (isNamed(flags) || (yield* awaitedHost(run.rootID)) !== undefined) return atEnd
  const isThere = yield* Effect.flatMap(
    FileSystem.FileSystem,
    (fs) => Effect.orElseSucceed(fs.exists(directory), () => true)
  )
  if (!isThere) return `\nIts worktree ${escapeLine(directory)} was removed.\n`
  const { list } = yield* Isolation
  const found = (yield* Effect.orElseSucceed(list, () => [])).find(({ taskID }) => taskID === run.taskID)
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
export const newestRun = (id: string) => Effect.map(runsOf(id), (runs) => runs.at(-1) ?? runs[0])

/** Shows the runs of a task. */
export const showTask = ({ flags, operands: [id = ""] }: {
  readonly flags: AttachFlags & { readonly format: "default" | "json" }
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const runs = yield* runsOf(id)
    const [first] = runs
    if (flags.format === "json") stdio.out(`${JSON.stringify(runs, undefined, 2)}\n`)
    else {
      const now = yield* Clock.currentTimeMillis
      stdio.out(`${escapeLine(first.description)} (${first.agent})\n${first.taskID} of ${first.parentID}\n\n`)
      const texts = yield* Effect.forEach(runs, (run) =>
        run.outcome === undefined
          ? Effect.zipWith(
            waitsFor(run, now),
            wasLeft(run),
            (doing, isLeftOver) => `${runText(run, now, isLeftOver)}According to storage, it ${escapeLine(doing)}.\n`
          )
          : Effect.succeed(runText(run, now, false, "")))
      stdio.out(texts.join("\n") + (yield* worktreeLine(runs, flags)))
    }
    return ExitCode.done
  }).pipe(Effect.provide(NodeOwner.layer), Effect.provide(isolation), Effect.provide(readable(flags)))

/** Polls the storage until the tasks have settled, and prints the outcome of each. */
export const waitForTasks = ({ flags, operands }: {
  readonly flags: AttachFlags & { readonly timeout: number | undefined }
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
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
      stdio.err(errorLine("The time is up, and not all tasks have settled. `skein tasks` shows them."))
      return ExitCode.limit
    }
    const now = yield* Clock.currentTimeMillis
    const texts = yield* Effect.forEach(found.value, (run) =>
      Effect.map(worktreeLine([run], flags), (line) =>
        runText(run, now) + line))
    stdio.out(texts.join("\n"))
    return found.value.every(({ outcome }) =>
        outcome?.status === "completed"
      )
      ? ExitCode.done
      : ExitCode.failed
  }).pipe(Effect.provide(NodeOwner.layer), Effect.provide(isolation), Effect.provide(readable(flags)))
