/** Finds the trees with unfinished work. */
import type { SessionStorage } from "@skein/core/SessionStorage"
import { hasOpenTurn, startsLoop, type Waiting } from "@skein/core/Unfinished"
import type { SessionID } from "@skein/domain/Id"
import { InboxRow } from "@skein/domain/InboxRow"
import { SessionInfo } from "@skein/domain/SessionInfo"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { makeDecode } from "./decode.ts"
import { readable, type Row } from "./rows.ts"
import type { Select } from "./select.ts"

const decode = makeDecode(SessionInfo)
const decodeRow = makeDecode(InboxRow)

const marks = (count: number): string => Array(count).fill("?").join(", ")

const runs = "SELECT DISTINCT root_id FROM run WHERE state <> 'settled'"

// JSON escapes quotes inside texts, so these match only keys. The sessions found are decoded before the decision.
const isQueued = `data LIKE '%"after":"turn"%'`

const waiting = `SELECT DISTINCT session_id, kind, CASE WHEN ${isQueued} THEN 1 ELSE 0 END AS queued FROM inbox
  WHERE taken_at IS NULL AND kind <> 'note'`

const queuedRows = (count: number) =>
  `SELECT id, data FROM inbox WHERE taken_at IS NULL AND ${isQueued} AND session_id IN (${marks(count)})`

const turns = `SELECT id, data FROM session WHERE data LIKE '%"turn":{%'
  AND (data NOT LIKE '%"ended":{%' OR data LIKE '%"unclosed":true%')`

const sessions = (count: number) => `SELECT id, data FROM session WHERE id IN (${marks(count)})`

const most = 500

interface WaitingRow {
  readonly session_id: SessionID
  readonly kind: InboxRow["kind"]
  readonly queued: number
}

/** Makes the reader. */
export const makeReadUnfinished = (read: Select): Context.Tag.Service<SessionStorage>["unfinished"] =>
  Effect.gen(function*() {
    const ofRuns = yield* read<{ readonly root_id: SessionID }>("unfinished", runs, [])
    const roots = new Set(ofRuns.map(({ root_id }) => root_id))
    for (const info of readable(yield* read<Row>("unfinished", turns, []), decode).rows) {
      if (hasOpenTurn(info)) roots.add(info.rootID)
    }
    const waitingIn = new Map<SessionID, Array<Waiting>>()
    for (const { kind, queued, session_id } of yield* read<WaitingRow>("unfinished", waiting, [])) {
      const row: Waiting = queued === 0 ? { kind } : { kind, after: "turn" }
      waitingIn.set(session_id, [...waitingIn.get(session_id) ?? [], row])
    }
    const ids = [...waitingIn.keys()]
    for (let at = 0; at < ids.length; at += most) {
      const some = ids.slice(at, at + most)
      /** Stopped sessions, for which it matters when such a prompt was sent. */
      const stopped = new Map<SessionID, SessionInfo>()
      for (const info of readable(yield* read<Row>("unfinished", sessions(some.length), some), decode).rows) {
        const rows = waitingIn.get(info.id) ?? []
        if (rows.some((row) => startsLoop(info, row))) roots.add(info.rootID)
        else if (rows.some(({ after }) => after !== undefined)) stopped.set(info.id, info)
      }
      if (stopped.size === 0) continue
      const late = yield* read<Row>("unfinished", queuedRows(stopped.size), [...stopped.keys()])
      for (const row of readable(late, decodeRow).rows) {
        const info = stopped.get(row.sessionID)
        if (info !== undefined && startsLoop(info, row)) roots.add(info.rootID)
      }
    }
    return [...roots]
  })
