/** Stops the unfinished work of a session and everything below it that no process runs. */
import type { SessionID } from "@skein/domain/Id"
import type { TaskRun } from "@skein/domain/Outcome"
import type { SessionInfo } from "@skein/domain/SessionInfo"
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

/** The moment of a stop: its time, and the stops of its session before. */
export interface StopMoment {
  readonly at: number
  readonly stops: number | undefined
}

/** The unsettled runs and open turns of a session and everything below it that nothing in memory works on. */
const findLeft = Effect.fnUntraced(
  function*({ id: top, rootID }: Pick<SessionInfo, "id" | "rootID">, { at }: StopMoment) {
    const storage = yield* SessionStorage
    const table = yield* SessionTable
    const all = (yield* storage.sessions({ rootID })).rows
    const infos = new Map(all.map((info) => [info.id, info]))
    const { rows } = yield* storage.runs({ rootID, unsettled: true })
    const isIdle = (id: SessionID) => table.peek(id)?.running === undefined
    const isKnown = ({ id, parentID }: TaskRun) => table.peek(parentID)?.tasks.running.some(({ row }) => row.id === id)
    return {
      // A later one was requested after the stop, and so was one of the same moment if it is in memory: others have ended.
      runs: rows.filter((row) => row.time.created <= at && isWithin(infos, row.taskID, top) && isKnown(row) !== true),
      turns: all.filter((info) => isWithin(infos, info.id, top) && hasOpenTurn(info) && isIdle(info.id))
    }
  }
)

const settleAll = Effect.fnUntraced(function*(live: Live, by: string | undefined, moment: StopMoment) {
  const { runs, turns } = yield* findLeft(live.info, moment)
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

const stopLeft = Effect.fnUntraced(function*(live: Live, by: string | undefined, moment: StopMoment) {
  const table = yield* SessionTable
  const { runs, turns } = yield* findLeft(live.info, moment)
  if (runs.length + turns.length === 0) return
  // Stored twice, it would hold for a prompt that was sent after it.
  if (live.info.stops === moment.stops) yield* storeStop(live)
  yield* Effect.catchTag(
    table.settle(live.info.id, () => settleAll(live, by, moment)),
    "ProjectUnavailable",
    (error) => Effect.logWarning("What was stopped is settled when its session is resumed", error.message)
  )
})

/** Stores the stop first, then settles what is left. Acquires the tree for that, unless there is nothing to do. */
export const stopStored = Effect.fnUntraced(
  function*(info: Pick<SessionInfo, "id" | "rootID">, by: string | undefined, moment: StopMoment) {
    const table = yield* SessionTable
    const { runs, turns } = yield* findLeft(info, moment)
    if (runs.length + turns.length > 0) yield* table.use(info.id, (live) => stopLeft(live, by, moment))
  }
)
