/** Stops the unfinished work of a session and everything below it that no process runs. */
import { RunID, SessionID } from "@skein/domain/Id"
import { hasOpenTurn, startsLoop, stopsOf } from "@skein/domain/InboxRow"
import type { TaskRun } from "@skein/domain/Outcome"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import { StorageError } from "../../StorageError.ts"
import type { Found } from "../../StorageFilter.ts"
import type { Entry } from "../../Write.ts"
import { closeStopped } from "../conversation/closeTurn.ts"
import type { Live } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { openIfReadable, settleStored } from "./recover.ts"
import { stoppedFromOutside } from "./settleRun.ts"
import { stoppedBy } from "./workRun.ts"

type Infos = ReadonlyMap<SessionID, SessionInfo>

const isWithin = (infos: Infos, id: SessionID | undefined, top: SessionID): boolean =>
  id !== undefined && (id === top || isWithin(infos, infos.get(id)?.parentID, top))

/** What is unfinished of a session and everything below it, and what nothing in memory works on. */
interface Left {
  readonly infos: Infos
  readonly runs: ReadonlyArray<TaskRun>
  readonly turns: ReadonlyArray<SessionInfo>
  /** What of it cannot be read. */
  readonly unread: Unread
  /** Whether a message waits that would start a session. */
  readonly hasMail: boolean
}

const isNothing = ({ hasMail, runs, turns, unread }: Left): boolean =>
  !hasMail && runs.length + turns.length + unread.runs.length + unread.sessions.length === 0

/** Whether a message waits for one of these sessions that starts it, or one that cannot be read. */
const findMail = Effect.fnUntraced(function*(rootID: SessionID, idle: ReadonlyArray<SessionInfo>, infos: Infos) {
  const storage = yield* SessionStorage
  if (!(yield* storage.unfinished).includes(rootID)) return false
  const find = (id: SessionID) => infos.get(id)
  return yield* Effect.exists(idle, (info) =>
    Effect.map(storage.inbox(info.id), ({ rows, unreadable }) => {
      const stops = { all: stopsOf(find, info.id), above: stopsOf(find, info.parentID) }
      return unreadable.length > 0 && stops.all === 0 || rows.some((row) => startsLoop(row, stops))
    }))
})

const findLeft = Effect.fnUntraced(
  function*({ id: top, rootID }: Pick<SessionInfo, "id" | "rootID">) {
    const storage = yield* SessionStorage
    const table = yield* SessionTable
    const found = yield* storage.sessions({ rootID })
    const stored = yield* storage.runs({ rootID, unsettled: true })
    const infos: Infos = new Map(found.rows.map((info) => [info.id, info]))
    const unread = yield* findUnread({ id: top, rootID }, found, stored)
    const isIn = (id: SessionID) => isWithin(infos, id, top) || unread.within.has(id)
    const isIdle = (id: SessionID) => table.peek(id)?.running === undefined
    const isKnown = ({ id, parentID }: TaskRun) => {
      const parent = table.peek(parentID)
      // It may be one of those that are being stored.
      return parent !== undefined &&
        (parent.tasks.storing > 0 || parent.tasks.running.some(({ row }) => row.id === id))
    }
    const idle = found.rows.filter(({ id }) => isIn(id) && isIdle(id))
    return {
      infos,
      runs: stored.rows.filter((row) => isIn(row.taskID) && !isKnown(row)),
      turns: idle.filter(hasOpenTurn),
      unread,
      hasMail: yield* findMail(rootID, idle, infos)
    } satisfies Left
  }
)

/** Ends what can be opened; returns the rest. */
const settleAll = Effect.fnUntraced(function*(live: Live, by: string | undefined) {
  const { runs, turns } = yield* findLeft(live.info)
  const unsettled: Array<TaskRun> = []
  const failed: Array<StorageError> = []
  for (const row of runs) {
    const { stop } = row
    const end = stop === undefined ? stoppedFromOutside(by) : stoppedBy({ by: stop.by, reason: stop.reason })
    yield* Effect.catchAll(Effect.asVoid(settleStored(row, end)), (error) =>
      Effect.sync(() => {
        if (error._tag === "StorageError" && error.reason !== "unreadable") failed.push(error)
        else unsettled.push(row)
      }))
  }
  const unclosed: Array<SessionInfo> = []
  for (const info of [live.info, ...turns]) {
    const each = yield* openIfReadable(info.id)
    if (each === undefined) unclosed.push(info)
    else if (each.running === undefined && hasOpenTurn(each.info)) yield* closeStopped(each)
  }
  const [error] = failed
  return error === undefined ? { runs: unsettled, turns: unclosed } : yield* error
})

const stopLeft = Effect.fnUntraced(function*(live: Live, by: string | undefined, before: number | undefined) {
  const table = yield* SessionTable
  const journal = yield* Journal
  const left = yield* findLeft(live.info)
  if (isNothing(left)) return
  // Stored twice, it would hold for a prompt that was sent after it.
  if (live.info.stops === before) yield* journal.commit([live.record.annotate(live.record.stopped)])
  const unopened = yield* table.settle(live.info.id, () => settleAll(live, by))
  yield* endUnopened(live, by, { ...left, ...unopened })
})

/**
 * Stores the stop first, unless the session was stopped more than `before` times by now; then settles what is left, also what
 * cannot be read. Acquires the tree for that, unless there is nothing to do.
 */
export const stopStored = Effect.fnUntraced(
  function*({ info }: Pick<Live, "info">, by: string | undefined, before: number | undefined) {
    const table = yield* SessionTable
    if (isNothing(yield* findLeft(info))) return
    yield* table.use(info.id, (live) => stopLeft(live, by, before))
  }
)

/** Makes sure that the stop of a session at work is stored. Without that, its work would continue after a crash. */
const storeAgain = Effect.fnUntraced(function*(live: Live) {
  const table = yield* SessionTable
  const storage = yield* SessionStorage
  const journal = yield* Journal
  const { id } = live.info
  const stored = Option.getOrUndefined(yield* storage.session(id))
  if (stored === undefined || (stored.stops ?? 0) >= (live.info.stops ?? 0) || table.peek(id) !== live) return
  yield* journal.commit([live.record.annotate({})])
}, (effect, { info: { id } }) =>
  Effect.mapError(effect, (error) =>
    new StorageError({
      ...error,
      message:
        `All work of ${id} has ended, but the stop could not be stored: ${error.message} Stop it again, or it may continue after the next start.`
    })))

/** The same, and stops what another program has stored in a tree in which nobody works: that is not in memory. */
export const confirmStop = Effect.fnUntraced(
  function*(live: Live, by: string | undefined, before: number | undefined) {
    const leases = yield* Leases
    const storage = yield* SessionStorage
    const { rootID } = live.info
    yield* storeAgain(live)
    if (leases.isUsed(rootID) || !(yield* storage.unfinished).includes(rootID)) return
    yield* stopStored(live, by, before)
  }
)

/** Carries out the stops that wait for a holder of a tree, before anything of it continues. What works here is stopped later. */
export const stopWaiting = Effect.fnUntraced(function*(rootID: SessionID) {
  const storage = yield* SessionStorage
  const journal = yield* Journal
  const table = yield* SessionTable
  for (const row of yield* storage.waiting(rootID)) {
    const { request, sessionID } = row
    const isOurs = request.type === "stop" || request.type === "task_stop"
    if (!isOurs || table.peek(sessionID)?.running !== undefined) continue
    const live = yield* openIfReadable(sessionID)
    if (live === undefined) continue
    if (request.type === "task_stop") {
      const { by, reason } = request
      const stop = { by, ...(reason === undefined ? {} : { reason }) }
      const { rows: runs } = yield* storage.runs({ taskID: sessionID, unsettled: true })
      yield* journal.commit(runs.map((run) => ({ _tag: "Run", run: { ...run, stop: run.stop ?? stop } })))
    } else {
      // One that was deleted meanwhile has nothing to stop.
      const stopping = stopStored(live, request.by, live.info.stops)
      yield* Effect.catchTag(stopping, "SessionNotFound", () => Effect.void)
    }
    yield* storage.commit([{ _tag: "Control", row: { ...row, answer: { ok: true, value: [] } } }])
  }
})

/** Rows below a session that cannot be read. */
interface Unread {
  readonly sessions: ReadonlyArray<SessionID>
  readonly runs: ReadonlyArray<RunID>
  /** The sessions below the unreadable ones, readable or not. */
  readonly within: ReadonlySet<SessionID>
}

const nothing: Unread = { sessions: [], runs: [], within: new Set() }

const idsOf = ({ unreadable }: Found<unknown>): ReadonlyArray<string> => unreadable.map(({ id }) => id)

/** Finds them, given what was found of the whole tree. Columns tell what an unreadable row belongs to. */
const findUnread = Effect.fnUntraced(function*(
  { id: top, rootID }: Pick<SessionInfo, "id" | "rootID">,
  sessions: Found<SessionInfo>,
  runs: Found<TaskRun>
) {
  if (sessions.unreadable.length + runs.unreadable.length === 0) return nothing
  const storage = yield* SessionStorage
  const bad = new Set(idsOf(sessions))
  const found = { sessions: [] as Array<SessionID>, runs: [] as Array<RunID>, within: new Set<SessionID>() }
  const look = (id: SessionID): Effect.Effect<void, Effect.Effect.Error<typeof storage.unfinished>> =>
    Effect.gen(function*() {
      if (bad.has(id)) found.sessions.push(id)
      for (const run of idsOf(yield* storage.runs({ parentID: id, unsettled: true }))) found.runs.push(RunID.make(run))
      const below = yield* storage.sessions({ parentID: id })
      for (const child of [...below.rows.map((info) => info.id), ...idsOf(below).map((each) => SessionID.make(each))]) {
        found.within.add(child)
        yield* look(child)
      }
    })
  yield* look(top)
  // A run names a session that may be gone.
  if (top === rootID) found.runs = [...new Set([...found.runs, ...idsOf(runs).map((each) => RunID.make(each))])]
  return found satisfies Unread
})

/** What a stop could not open: runs and turns that can be read, and rows that cannot. */
interface Unopened {
  readonly infos: ReadonlyMap<SessionID, SessionInfo>
  readonly runs: ReadonlyArray<TaskRun>
  readonly turns: ReadonlyArray<SessionInfo>
  readonly unread: Unread
}

/** Stores that all of it was stopped, in one commit with the session that was stopped. */
const endUnopened = Effect.fnUntraced(function*(
  live: Live,
  by: string | undefined,
  { infos, runs, turns, unread }: Unopened
) {
  if (runs.length + turns.length + unread.runs.length + unread.sessions.length === 0) return
  const journal = yield* Journal
  const now = yield* Clock.currentTimeMillis
  const { rootID } = live.info
  const pathTo = (id: SessionID | undefined): ReadonlyArray<SessionInfo> => {
    const info = id === undefined ? undefined : infos.get(id)
    return info === undefined ? [] : [...pathTo(info.parentID), info]
  }
  const settled = runs.flatMap((run): ReadonlyArray<Entry> => {
    const { agent, description, id: runID, parentID, taskID, time } = run
    const above = pathTo(parentID)
    const depth = (above.at(-1)?.depth ?? above.length) + 1
    const durationMs = now - (time.started ?? time.created)
    const outcome = { ...stoppedFromOutside(by), taskID, runID, text: "", usage: none, durationMs } as const
    const path = [...above.map((info) => info.agent), agent]
    const facts = {
      task_id: taskID,
      run_id: runID,
      trigger_session_id: parentID,
      root: rootID,
      depth,
      path,
      agent,
      description,
      durationMs,
      outcome,
      usage: outcome.usage
    }
    return [
      { _tag: "Run", run: { ...run, state: "settled", outcome, time: { ...time, settled: now } } },
      journal.fact({ id: taskID, rootID, parentID, depth }, "subagent.failed", facts)
    ]
  })
  yield* journal.commit([
    // Fences the rest: what is not in memory has no fence of its own.
    live.record.annotate({}),
    ...settled,
    ...turns.flatMap(({ turn, ...info }): ReadonlyArray<Entry> =>
      info.id === live.info.id || turn === undefined
        ? []
        : [{
          _tag: "Session",
          info: { ...info, turn: { ...turn, ended: { at: now, how: "stopped" } } }
        }]
    ),
    ...unread.sessions.map((id): Entry => ({ _tag: "Shelve", of: "session", id, rootID, at: now })),
    ...unread.runs.map((id): Entry => ({ _tag: "Shelve", of: "run", id, rootID, at: now }))
  ])
  const count = unread.runs.length + unread.sessions.length
  if (count > 0) {
    yield* Effect.logWarning(
      `${live.info.id} was stopped, although ${[...unread.sessions, ...unread.runs][0]} cannot be read${
        count === 1 ? "" : ` and ${count - 1} more rows`
      }: nothing of it is continued. Use the version of Skein that wrote it to see it.`
    )
  }
})
