/** Finds the trees with unfinished work. */
import type { SessionStorage } from "@skein/core/SessionStorage"
import { hasOpenTurn, wantsAnswer } from "@skein/core/Unfinished"
import type { SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import { SessionInfo } from "@skein/domain/SessionInfo"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { makeDecode } from "./decode.ts"
import { readable, type Row } from "./rows.ts"
import type { Select } from "./select.ts"

const decode = makeDecode(SessionInfo)

const runs = "SELECT DISTINCT root_id FROM run WHERE state <> 'settled'"

// What waits for the end of a turn starts nothing by itself. JSON escapes quotes inside texts, so this matches only a key.
const waiting = `SELECT DISTINCT session_id, kind FROM inbox
  WHERE taken_at IS NULL AND kind <> 'note' AND data NOT LIKE '%"after":"turn"%'`

// JSON escapes quotes inside texts, so these match only keys. The rows found are decoded before the decision.
const turns = `SELECT id, data FROM session WHERE data LIKE '%"turn":{%'
  AND (data NOT LIKE '%"ended":{%' OR data LIKE '%"unclosed":true%')`

const sessions = (count: number) => `SELECT id, data FROM session WHERE id IN (${Array(count).fill("?").join(", ")})`

const most = 500

/** Makes the reader. */
export const makeReadUnfinished = (read: Select): Context.Tag.Service<SessionStorage>["unfinished"] =>
  Effect.gen(function*() {
    const ofRuns = yield* read<{ readonly root_id: SessionID }>("unfinished", runs, [])
    const roots = new Set(ofRuns.map(({ root_id }) => root_id))
    for (const info of readable(yield* read<Row>("unfinished", turns, []), decode).rows) {
      if (hasOpenTurn(info)) roots.add(info.rootID)
    }
    const rows = yield* read<{ readonly session_id: SessionID; readonly kind: InboxRow["kind"] }>(
      "unfinished",
      waiting,
      []
    )
    const kinds = new Map<SessionID, Array<InboxRow["kind"]>>()
    for (const { kind, session_id } of rows) kinds.set(session_id, [...kinds.get(session_id) ?? [], kind])
    const ids = [...kinds.keys()]
    for (let at = 0; at < ids.length; at += most) {
      const some = ids.slice(at, at + most)
      for (const info of readable(yield* read<Row>("unfinished", sessions(some.length), some), decode).rows) {
        if (wantsAnswer(info, kinds.get(info.id) ?? [])) roots.add(info.rootID)
      }
    }
    return [...roots]
  })
