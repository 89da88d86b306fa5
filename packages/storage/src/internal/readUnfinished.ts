/** Finds the trees with unfinished work. */
import type { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import { InboxRow, startsLoop, stopsOf } from "@skein/domain/InboxRow"
import { SessionInfo } from "@skein/domain/SessionInfo"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { makeDecode, readable, type Row } from "./decode.ts"
import type { Select } from "./dialect.ts"

const decode = makeDecode(SessionInfo)
const decodeRow = makeDecode(InboxRow)

const marks = (count: number): string => Array(count).fill("?").join(", ")

const runs = "SELECT DISTINCT root_id FROM run WHERE state <> 'settled'"

// JSON escapes quotes inside texts, so the patterns match only keys.
const isWaiting = `taken_at IS NULL AND kind IN ('prompt', 'steer', 'notification')
  AND inbox.data NOT LIKE '%"foreign":true%'`

const waiting = `SELECT DISTINCT inbox.session_id, session.root_id FROM inbox
  JOIN session ON session.id = inbox.session_id WHERE ${isWaiting}`

const waitingRows = (count: number) =>
  `SELECT id, data FROM inbox WHERE ${isWaiting} AND session_id IN (${marks(count)})`

// The condition is `hasOpenTurn`, and that the turn is not left alone. Servers look often, and most trees that they find are at work: no session is decoded. One
// that is shelved was stopped without being read.
const turns = `SELECT DISTINCT root_id FROM session WHERE archived IS NULL AND is_draft = 0 AND data LIKE '%"turn":{%'
  AND data NOT LIKE '%"ended":{%' AND data NOT LIKE '%"leftAlone":true%'`

const sessions = (count: number) => `SELECT id, data FROM session WHERE id IN (${marks(count)})`

const most = 500

/** Reads the rows for some ids, in portions that a statement can take. */
const readFor = (read: Select, sql: (count: number) => string, ids: ReadonlyArray<SessionID>) =>
  Effect.gen(function*() {
    const all: Array<Row> = []
    for (let at = 0; at < ids.length; at += most) {
      const some = ids.slice(at, at + most)
      for (const row of yield* read<Row>("unfinished", sql(some.length), some)) all.push(row)
    }
    return all
  })

/** These sessions and all above them: a stop holds for everything below it. */
const readLines = (read: Select, ids: ReadonlyArray<SessionID>) =>
  Effect.gen(function*() {
    const infos = new Map<SessionID, SessionInfo>()
    const asked = new Set<SessionID>()
    let next = ids
    while (next.length > 0) {
      for (const id of next) asked.add(id)
      const found = readable(yield* readFor(read, sessions, next), decode).rows
      for (const info of found) infos.set(info.id, info)
      next = [
        ...new Set(found.flatMap(({ parentID }) => parentID === undefined || asked.has(parentID) ? [] : [parentID]))
      ]
    }
    return infos
  })

/** Makes the reader. */
export const makeReadUnfinished = (read: Select): Context.Tag.Service<SessionStorage>["unfinished"] =>
  Effect.gen(function*() {
    const rootsOf = (sql: string) => read<{ readonly root_id: SessionID }>("unfinished", sql, [])
    const roots = new Set([...yield* rootsOf(runs), ...yield* rootsOf(turns)].map(({ root_id }) => root_id))
    const found = yield* read<{ readonly session_id: SessionID; readonly root_id: SessionID }>(
      "unfinished",
      waiting,
      []
    )
    const ids = found.filter(({ root_id }) => !roots.has(root_id)).map(({ session_id }) => session_id)
    const infos = yield* readLines(read, ids)
    const find = (id: SessionID) => infos.get(id)
    /** Sessions for which it matters what came after a stop. */
    const stopped: Array<SessionID> = []
    for (const id of ids) {
      const info = infos.get(id)
      if (info === undefined || roots.has(info.rootID)) continue
      if (stopsOf(find, id) > 0) stopped.push(id)
      else roots.add(info.rootID)
    }
    for (const row of readable(yield* readFor(read, waitingRows, stopped), decodeRow).rows) {
      const info = infos.get(row.sessionID)
      if (info === undefined) continue
      const stops = { all: stopsOf(find, info.id), above: stopsOf(find, info.parentID) }
      if (startsLoop(row, stops)) roots.add(info.rootID)
    }
    return [...roots]
  })
