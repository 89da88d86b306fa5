/**
 * Ends what a stop cannot open: sessions and runs that this version cannot read, and what depends on them. Their rows stay
 * as they are. A version that can read them finds that they were stopped.
 */
import { RunID, SessionID } from "@skein/domain/Id"
import type { TaskRun } from "@skein/domain/Outcome"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Journal } from "../../Journal.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import type { Found } from "../../StorageFilter.ts"
import type { Entry } from "../../Write.ts"
import type { Live } from "../live/Live.ts"
import { stoppedFromOutside } from "./runEnd.ts"

/** Rows below a session that cannot be read. */
export interface Unread {
  readonly sessions: ReadonlyArray<SessionID>
  readonly runs: ReadonlyArray<RunID>
  /** The sessions below the unreadable ones, readable or not. */
  readonly within: ReadonlySet<SessionID>
}

const nothing: Unread = { sessions: [], runs: [], within: new Set() }

const idsOf = ({ unreadable }: Found<unknown>): ReadonlyArray<string> => unreadable.map(({ id }) => id)

/** Finds them, given what was found of the whole tree. Columns tell what an unreadable row belongs to. */
export const findUnread = Effect.fnUntraced(function*(
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
export const endUnopened = Effect.fnUntraced(function*(
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
          info: { ...info, turn: { ...turn, ended: { at: turn.ended?.at ?? now, how: "stopped" } } }
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
