/** Reads sessions and their messages from storage. */
import { Ids, type SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { RunTerms } from "@skein/domain/Outcome"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { SessionStorage } from "../../SessionStorage.ts"
import { notFound } from "../../Turn.ts"
import { noTerms, termsOf, unreadableTerms } from "./Assignment.ts"
import type { LiveMessage } from "./History.ts"
import type { Live } from "./Live.ts"

/** The data of a session. */
export const readInfo = Effect.fnUntraced(function*(id: SessionID) {
  const storage = yield* SessionStorage
  const found = yield* storage.session(id)
  return Option.isNone(found) ? yield* notFound(id) : found.value
})

/** The inbox of a session. Skips and logs rows that cannot be read. */
const readInbox = Effect.fnUntraced(function*(id: SessionID) {
  const storage = yield* SessionStorage
  const ids = yield* Ids
  const { rows, unreadable } = yield* storage.inbox(id)
  for (const row of unreadable) {
    yield* Effect.logError(
      `${row.id} waits for ${id} and cannot be read (${row.reason}): the session continues without it. `
        + "Use the version of Skein that wrote it."
    )
  }
  for (const row of rows) ids.after(row.id)
  return rows
})

/**
 * The terms of a task: those of its current run, or of its last one. A prompt to the task itself changes nothing about
 * them.
 */
const readTerms = Effect.fnUntraced(function*({ id, parentID }: SessionInfo) {
  if (parentID === undefined) return noTerms
  const storage = yield* SessionStorage
  const { rows, unreadable } = yield* storage.runs({ taskID: id })
  const run = rows.findLast(({ time }) => time.started !== undefined) ?? rows[0]
  if (unreadable.some((row) => run === undefined || row.id > run.id)) return unreadableTerms
  return run === undefined ? noTerms : termsOf(run)
})

/** What is stored of a session in other rows than its own, as far as it is always in memory. */
export interface Stored {
  readonly inbox: ReadonlyArray<InboxRow>
  readonly terms: RunTerms
}

/** That of a new session. */
export const nothingStored: Stored = { inbox: [], terms: noTerms }

/** Reads it. */
export const readStored = Effect.fnUntraced(function*(info: SessionInfo) {
  const stored: Stored = { inbox: yield* readInbox(info.id), terms: yield* readTerms(info) }
  return stored
})

/** The messages of a session, read unless they are in memory. */
export const readHistory = Effect.fnUntraced(function*(live: Live) {
  if (live.messages !== undefined) return live.messages
  const storage = yield* SessionStorage
  const ids = yield* Ids
  const found = yield* storage.messages(live.info.id)
  const last = found.rows.at(-1)
  // Messages and parts are sorted by id, including those of another process with another clock.
  if (last !== undefined) { for (const { id } of [last.info, ...last.parts]) ids.after(id) }
  const messages: ReadonlyArray<LiveMessage> = live.history.load(found.rows)
  return messages
})
