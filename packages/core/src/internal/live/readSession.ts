/** Reads sessions and their messages from storage. */
import { Ids, type SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { notFound } from "../../SessionError.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import type { LiveMessage } from "./History.ts"
import type { Live } from "./Live.ts"

/** The data of a session. */
export const readInfo = Effect.fnUntraced(function*(id: SessionID) {
  const storage = yield* SessionStorage
  const found = yield* storage.session(id)
  return Option.isNone(found) ? yield* notFound(id) : found.value
})

/** The inbox of a session. Skips and logs rows that cannot be read. */
export const readInbox = Effect.fnUntraced(function*(id: SessionID) {
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
