/**
 * Recovers a tree that a dead process left: every run continues or gets an outcome, and every interrupted turn
 * continues.
 */
import type { PartID, SessionID } from "@skein/domain/Id"
import { hasOpenTurn, type InboxRow, isInert, startsLoop, stopsOf } from "@skein/domain/InboxRow"
import type { TaskRun } from "@skein/domain/Outcome"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Agent } from "../../Agent.ts"
import { Journal } from "../../Journal.ts"
import { missingOf, neededModels, notContinued } from "../../ModelChoice.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import { type TaskProgress, TaskRefused } from "../../TaskRequest.ts"
import { endPromise, keptFor } from "../budget/reservations.ts"
import {
  closeStopped,
  closeTurn,
  deadly,
  diedTooOften,
  endAnswers,
  endQuestions,
  forgiveDeaths
} from "../conversation/closeTurn.ts"
import { type Live, startSideFiber } from "../live/Live.ts"
import { inProject, SessionTable } from "../live/SessionTable.ts"
import { disposeOf } from "../live/stop.ts"
import { openAsks } from "../permission/askedBefore.ts"
import { SessionRunner } from "../runner/SessionRunner.ts"
import { firstWords, makeTitle } from "../summary/makeSummary.ts"
import { findParent, unknownTask } from "./checkTask.ts"
import { reopenRun } from "./openRun.ts"
import { type End, settleRun, startOf, stoppedFromOutside } from "./settleRun.ts"
import { restartRun, startForMessages } from "./startRun.ts"
import { stoppedBy } from "./workRun.ts"

/** The run that a call had requested, the last one if it was repeated; undefined if there is none. */
export const runOfCall = Effect.fnUntraced(function*(parentID: SessionID, partID: PartID) {
  const storage = yield* SessionStorage
  const { rows } = yield* storage.runs({ parentID })
  return rows.findLast((row) => row.partID === partID)
})

/** The sessions of a stored run. */
const sessionsOf = Effect.fnUntraced(function*({ parentID, taskID }: TaskRun) {
  const table = yield* SessionTable
  const parent = yield* findParent(parentID)
  const child = yield* Effect.catchTag(table.open(taskID), "SessionNotFound", () => unknownTask(taskID))
  return { parent, child }
})

/** The agent of a stored run, which may be gone from the config. */
const agentOf = (parent: Live, row: TaskRun) =>
  inProject(parent, Effect.option(Effect.flatMap(Agent, (agents) => agents.get(row.agent))))

const withoutAgent = ({ agent }: TaskRun): string =>
  `The agent ${agent} no longer exists, so its task could not continue. Define it again, or ask another agent.`

/**
 * Recovers a run as it is now, which may be later than it was read: another fiber may have recovered it, and it may even
 * have settled since. It is looked for in memory first: there it stays until its outcome is stored.
 */
const once = <A, E, R>(row: TaskRun, recovered: (parent: Live, child: Live) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(sessionsOf(row), ({ child, parent }) => {
    const current = Effect.gen(function*() {
      const known = parent.tasks.running.find((task) => task.row.id === row.id)
      if (known !== undefined) return known
      const { rows } = yield* (yield* SessionStorage).runs({ taskID: row.taskID })
      const outcome = rows.find(({ id }) => id === row.id)?.outcome
      return outcome ?? (yield* recovered(parent, child))
    })
    return parent.tasks.recovery.withPermits(1)(current)
  })

/** Continues a stored run, unless this process has done so already; its outcome if it has settled. */
export const continueRun = (row: TaskRun, progress: TaskProgress | undefined) =>
  once(row, (parent, child) =>
    Effect.flatMap(agentOf(parent, row), (agent) =>
      agent._tag === "None"
        ? new TaskRefused({ reason: "unknown_agent", message: withoutAgent(row) })
        : restartRun({ parent, child, agent: agent.value }, row, progress)))

/** Gives a run its outcome, without further work. */
export const settleStored = (row: TaskRun, end: End) =>
  once(row, (parent, child) => settleOnce(parent, child, row, end))

const settleOnce = Effect.fnUntraced(function*(parent: Live, child: Live, row: TaskRun, end: End) {
  const table = yield* SessionTable
  yield* table.history(child)
  const reservation = keptFor(parent.budget, child.budget, row)
  const task = reopenRun(parent, child, row, reservation, () => Effect.void, yield* Clock.currentTimeMillis)
  const closing = Effect.gen(function*() {
    // Its turn ends with it: nothing would continue it. A stop also holds for what an ended turn has started.
    if (child.hasOpenTurn) return yield* closeStopped(child)
    yield* closeTurn(child)
    const journal = yield* Journal
    if (end.status === "stopped") yield* journal.commit([child.record.annotate(child.record.stopped)])
  })
  const settling = settleRun(parent, task, end, startOf(row))
  // It ends here also if something fails, or the program would wait for it when it closes.
  const exit = yield* Effect.exit(Effect.zipRight(closing, settling))
  parent.tasks.remove(task)
  endPromise(parent.budget, reservation)
  Deferred.unsafeDone(task.ended, exit)
  return yield* Effect.as(exit, task)
})

/** Whether a session, or one above it, was stopped since something began that carries its stops. */
const wasStopped = (
  infos: ReadonlyMap<SessionID, SessionInfo>,
  id: SessionID | undefined,
  begun: { readonly stops?: number | undefined }
): boolean => isInert(begun, stopsOf((each) => infos.get(each), id))

/** Whether an open call waits for this run. */
const isWaitedFor = Effect.fnUntraced(function*({ parentID, partID }: TaskRun) {
  if (partID === undefined) return false
  const table = yield* SessionTable
  const parent = yield* findParent(parentID)
  if (!parent.hasOpenTurn) return false
  const messages = yield* table.history(parent)
  return messages.some(({ parts }) =>
    parts.some((part) => part.id === partID && part.type === "tool" && part.state.status === "running")
  )
})

/** Whether the same request has died too often, and nothing new was said since. */
const isDeadly = (live: Live): boolean => diedTooOften(live) && !live.inbox.wantsAnswer

/**
 * Ends and charges what a dead process had asked models in a session: its answer and the questions of hidden agents. What this
 * process asks is under way.
 */
const endRequests = Effect.fnUntraced(function*(live: Live, anew: boolean) {
  const table = yield* SessionTable
  const journal = yield* Journal
  const now = yield* Clock.currentTimeMillis
  const messages = live.hasOpenTurn ? yield* table.history(live) : []
  const answers = endAnswers(live, messages.filter(({ info }) => !live.request.own.has(info.id)), now)
  const questions = endQuestions(live, now)
  const forgiven = anew && live.hasOpenTurn ? forgiveDeaths(live) : []
  const writes = [...answers, ...questions, ...forgiven]
  if (writes.length > 0) yield* journal.commit(writes, live.info)
})

/** Ends the questions of dead processes that no call will ask again. */
const endAsks = Effect.fnUntraced(function*(rootID: SessionID, infos: ReadonlyMap<SessionID, SessionInfo>) {
  const journal = yield* Journal
  const writes = (yield* openAsks(rootID)).flatMap(({ ask }) => {
    const info = infos.get(ask.sessionID)
    if (ask.type !== "permission" || ask.partID !== undefined || info === undefined) return []
    const message = "The process that asked has ended."
    return [journal.fact(info, "permission.replied", { id: ask.id, reply: "reject", message, withdrawn: true })]
  })
  if (writes.length > 0) yield* journal.commit(writes)
})

/** Asks again for the title of a session whose process died in its first turn, before it had one. */
const titleAgain = Effect.fnUntraced(function*(root: Live) {
  if (root.running === undefined || !root.hasOpenTurn) return
  const prompts = (root.messages ?? []).filter(({ info, parts }) =>
    info.role === "user" && parts.some((part) => part.type !== "text" || part.synthetic !== true)
  )
  const said = prompts.flatMap(({ parts }) =>
    parts.flatMap((part) => part.type === "text" && part.synthetic !== true ? [part.text] : [])
  ).join("\n")
  if (prompts.length !== 1 || root.info.title !== firstWords(said)) return
  yield* startSideFiber(root, inProject(root, makeTitle(root, said)))
})

/** Leaves a turn that is deadly, so that nothing continues it by itself, and says so once. */
const leaveAlone = Effect.fnUntraced(function*({ info: { id, turn }, info, record }: Live) {
  if (turn === undefined || turn.leftAlone === true) return
  yield* (yield* Journal).commit([record.annotate({ turn: { ...turn, leftAlone: true } })], info)
  yield* Effect.logWarning(
    `${deadly} The session ${id} is left alone. To ask again, run \`skein sessions resume ${id}\`.`
  )
})

/** Asks again, in a recovered tree, for the answers for which the process has died too often. */
export const askAgain = Effect.fnUntraced(function*({ info: { id: rootID } }: Live) {
  const table = yield* SessionTable
  const journal = yield* Journal
  const runner = yield* SessionRunner
  const { rows } = yield* (yield* SessionStorage).sessions({ rootID })
  for (const { id } of rows.filter(hasOpenTurn)) {
    const live = table.peek(id)?.running === undefined ? yield* openIfReadable(id) : undefined
    if (live === undefined) continue
    yield* table.history(live)
    if (live.running !== undefined || !live.hasOpenTurn || !diedTooOften(live)) continue
    yield* journal.commit(forgiveDeaths(live), live.info)
    yield* runner.resume(live)
  }
})

/** A session to recover; undefined if it was deleted meanwhile, or cannot be read, which is logged. */
export const openIfReadable = (id: SessionID) =>
  Effect.flatMap(SessionTable, (table) => table.open(id)).pipe(
    Effect.catchTag("SessionNotFound", () => Effect.succeed(undefined)),
    Effect.catchAll((error) =>
      Effect.as(Effect.logError(`The session ${id} could not be recovered`, error.message), undefined)
    )
  )

/** Whether the caller of a run knows how it ended. */
const isReported = Effect.fnUntraced(function*(row: TaskRun, { inbox: { rows } }: Live) {
  if (row.state !== "settled") return false
  return row.background ? rows.every(({ runID }) => runID !== row.id) : !(yield* isWaitedFor(row))
})

/** Deletes the session of a disposable task whose outcome was read right before the crash. */
const dispose = Effect.fnUntraced(function*(row: TaskRun) {
  const table = yield* SessionTable
  const holder = yield* openIfReadable(row.parentID)
  const child = yield* Effect.catchTag(table.open(row.taskID), "SessionNotFound", () => Effect.succeed(undefined))
  if (holder === undefined || child === undefined) return
  holder.tasks.dispose(row.id, row.taskID)
  if (yield* isReported(row, holder)) yield* disposeOf(holder, [row.id])
}, (effect) => Effect.catchTag(effect, "TaskRefused", () => Effect.void))

/** Settles a run that cannot continue; whether it is to be continued here, because no call does that. */
const settleOrKeep = Effect.fnUntraced(function*(row: TaskRun, infos: Map<SessionID, SessionInfo>) {
  const { by, reason } = row.stop ?? {}
  // Runs below find that their caller was stopped.
  const end = (how: End) =>
    Effect.map(settleStored(row, how), (task) => {
      if ("live" in task) infos.set(task.row.taskID, task.live.info)
      return false
    })
  if (by !== undefined) return yield* end(stoppedBy({ by, reason }))
  if (wasStopped(infos, row.parentID, row)) return yield* end(stoppedFromOutside())
  const { child, parent } = yield* sessionsOf(row)
  if (isDeadly(child)) return yield* end({ status: "lost", reason: deadly })
  // A run that a program abandoned has nobody to notify.
  if (!row.background && !(yield* isWaitedFor(row))) return yield* end({ status: "lost" })
  if (Option.isNone(yield* agentOf(parent, row))) {
    return yield* end({ status: "failed", error: { tag: "AgentNotFound", message: withoutAgent(row) } })
  }
  // A call continues its own.
  return row.background
})

const logFailure = ({ taskID }: TaskRun) => (error: { readonly message: string }) =>
  Effect.as(Effect.logError(`The task ${taskID} could not be recovered`, error.message), false)

/**
 * Unread messages to a settled task start a new run; its loop answers everything else itself, as it did before. What a
 * stop holds waits.
 */
const startForUnread = Effect.fnUntraced(
  function*(info: SessionInfo, infos: ReadonlyMap<SessionID, SessionInfo>, runs: ReadonlyArray<TaskRun>) {
    const storage = yield* SessionStorage
    const table = yield* SessionTable
    const last = runs.findLast(({ taskID }) => taskID === info.id)
    const { rows: waiting } = yield* storage.inbox(info.id)
    const find = (id: SessionID) => infos.get(id)
    const stops = { all: stopsOf(find, info.id), above: stopsOf(find, info.parentID) }
    const starting = waiting.filter((row) => startsLoop(row, stops))
    const isMessage = ({ kind }: InboxRow) => kind === "steer"
    if (last !== undefined && starting.some(isMessage)) {
      const live = yield* table.open(info.id)
      if (live.parent !== undefined && live.tasks.size === 0) yield* startForMessages(live.parent, last, live)
    } else if (!starting.every(isMessage)) {
      const runner = yield* SessionRunner
      yield* runner.resume(yield* table.open(info.id))
    }
  },
  Effect.catchAll((error) => Effect.logWarning("A message to a task stays in its inbox", error.message))
)

/**
 * Recovers the tree of a root, for any session of it. Ends early, as `interrupted`, if `mayContinue` turns false; else says
 * whether there was unfinished work. Fails if a model is missing with which some of that began. With `anew`, it asks again
 * what had died too often.
 */
export const recoverTree = Effect.fnUntraced(function*(
  root: Live,
  asked: Live,
  mayContinue: () => boolean,
  anew: boolean
) {
  const runner = yield* SessionRunner
  const storage = yield* SessionStorage
  const rootID = root.info.id
  const all = (yield* storage.runs({ rootID })).rows
  const runs = all.filter(({ state }) => state !== "settled")
  const { rows: before } = yield* storage.sessions({ rootID })
  const infos = new Map(before.map((info) => [info.id, info]))
  const ofRuns = new Set(runs.map(({ taskID }) => taskID))
  // Before anything of it is touched: elsewhere, or with another config, it can still continue.
  const needed = neededModels(before, runs)
  const [missing] = needed.length === 0 ? [] : yield* inProject(root, missingOf(needed))
  if (missing !== undefined) return yield* notContinued(missing)
  yield* endAsks(rootID, infos)
  // Before anything is asked again: what was asked before counts in the budgets.
  for (const info of before) {
    if (!hasOpenTurn(info) && (info.asking ?? []).length === 0) continue
    const live = yield* openIfReadable(info.id)
    if (live === undefined) continue
    yield* endRequests(live, anew)
    infos.set(info.id, live.info)
  }
  const resume = (live: Live) => isDeadly(live) ? leaveAlone(live) : runner.resume(live)
  // Stopped sessions come first, with everything that they requested.
  const kept: Array<TaskRun> = []
  for (const row of [...runs.filter(({ stop }) => stop), ...runs.filter(({ stop }) => !stop)]) {
    if (!mayContinue()) return "interrupted" as const
    if (yield* Effect.catchAll(settleOrKeep(row, infos), logFailure(row))) kept.push(row)
  }
  // From the bottom up: a run that continued before its own background tasks would settle without them.
  const depthOf = ({ taskID }: TaskRun) => infos.get(taskID)?.depth ?? 0
  for (const row of kept.toSorted((a, b) => depthOf(b) - depthOf(a))) {
    if (!mayContinue()) return "interrupted" as const
    yield* Effect.catchAll(continueRun(row, undefined), logFailure(row))
  }
  for (const row of all) if (row.cleanup === "delete") yield* dispose(row)
  for (const info of infos.values()) {
    if (!mayContinue()) return "interrupted" as const
    if (info.parentID !== undefined && !ofRuns.has(info.id)) yield* startForUnread(info, infos, all)
    const { turn } = info
    if (turn === undefined || turn.ended !== undefined) continue
    const live = yield* openIfReadable(info.id)
    if (live === undefined) continue
    if (wasStopped(infos, info.id, turn)) yield* closeStopped(live)
    // The turn of a task continues when its run has its slot.
    else if (!ofRuns.has(info.id)) yield* resume(live)
  }
  if (!mayContinue()) return "interrupted" as const
  if (!ofRuns.has(asked.info.id) && !isDeadly(asked)) yield* runner.resume(asked)
  if (asked !== root && !isDeadly(root)) yield* runner.resume(root)
  if (!isDeadly(root)) yield* titleAgain(root)
  const wasLeft = runs.length > 0 || before.some(hasOpenTurn)
  return wasLeft || root.running !== undefined || asked.running !== undefined
    ? "continued" as const
    : "nothing left" as const
})
