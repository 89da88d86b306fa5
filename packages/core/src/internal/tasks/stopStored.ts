/** Stops the unfinished work of a session and everything below it that no process runs. */
import type { SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { SessionStorage } from "../../SessionStorage.ts"
import { hasOpenTurn } from "../../Unfinished.ts"
import { closeStopped } from "../conversation/closeTurn.ts"
import type { Live } from "../live/Live.ts"
import { storeStop } from "../live/recordStop.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { openIfReadable, settleStored } from "./recover.ts"
import { stoppedFromOutside } from "./runEnd.ts"
import { stoppedBy } from "./workRun.ts"

const isWithin = (infos: ReadonlyMap<SessionID, SessionInfo>, id: SessionID | undefined, top: SessionID): boolean =>
  id !== undefined && (id === top || isWithin(infos, infos.get(id)?.parentID, top))

/** The unsettled runs and open turns of a session and everything below it that nothing in memory works on. */
const findLeft = Effect.fnUntraced(function*({ id: top, rootID }: Pick<SessionInfo, "id" | "rootID">, now: number) {
  const storage = yield* SessionStorage
  const table = yield* SessionTable
  const all = (yield* storage.sessions({ rootID })).rows
  const infos = new Map(all.map((info) => [info.id, info]))
  const { rows } = yield* storage.runs({ rootID, unsettled: true })
  const isIdle = (id: SessionID) => table.peek(id)?.running === undefined
  return {
    // A later one was requested after the stop.
    runs: rows.filter(({ taskID, time }) => time.created < now && isWithin(infos, taskID, top)),
    turns: all.filter((info) => isWithin(infos, info.id, top) && hasOpenTurn(info) && isIdle(info.id))
  }
})

const settleAll = Effect.fnUntraced(function*(live: Live, by: string | undefined, now: number) {
  const { runs, turns } = yield* findLeft(live.info, now)
  for (const row of runs) {
    const { stop } = row
    const end = stop === undefined ? stoppedFromOutside(by) : stoppedBy({ by: stop.by, reason: stop.reason })
    yield* Effect.catchAll(
      settleStored(row, end, false),
      (error) => Effect.logError(`The task ${row.taskID} could not be stopped`, error.message)
    )
  }
  for (const { id } of [live.info, ...turns]) {
    const each = yield* openIfReadable(id)
    if (each !== undefined && each.running === undefined && hasOpenTurn(each.info)) yield* closeStopped(each)
  }
})

const stopLeft = Effect.fnUntraced(function*(live: Live, by: string | undefined, now: number) {
  const table = yield* SessionTable
  const { runs, turns } = yield* findLeft(live.info, now)
  if (runs.length + turns.length === 0) return
  yield* storeStop(live)
  yield* Effect.catchTag(
    table.settle(live.info.id, () => settleAll(live, by, now)),
    "ProjectUnavailable",
    (error) => Effect.logWarning("What was stopped is settled when its session is resumed", error.message)
  )
})

/** Stores the stop first, then settles what is left. Acquires the tree for that, unless there is nothing to do. */
export const stopStored = Effect.fnUntraced(
  function*(info: Pick<SessionInfo, "id" | "rootID">, by: string | undefined) {
    const table = yield* SessionTable
    const now = yield* Clock.currentTimeMillis
    const { runs, turns } = yield* findLeft(info, now)
    if (runs.length + turns.length > 0) yield* table.use(info.id, (live) => stopLeft(live, by, now))
  }
)
