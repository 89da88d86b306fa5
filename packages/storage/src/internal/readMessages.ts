/** Reads the messages of a session with their parts. */
import type { Found } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import { Message } from "@skein/domain/Message"
import { type MessageWithParts, Part } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import { makeDecode } from "./decode.ts"
import { readable, type Row } from "./rows.ts"
import type { Select } from "./select.ts"
import type { Turns } from "./turns.ts"

const operation = "messages"
const decodeMessage = makeDecode(Message)
const decodePart = makeDecode(Part)

/** Parts that are read at once: more would hold all their texts twice, and keep every other fiber waiting. */
const pageSize = 500

/** Makes the reader. All pages of a session are read in one turn, so that no commit comes in between. */
export const makeReadMessages = (
  select: Select,
  turns: Turns
): (id: SessionID) => Effect.Effect<Found<MessageWithParts>, StorageError> => {
  const page = (id: SessionID, after: string) =>
    select<Row>(operation, "SELECT id, data FROM part WHERE session_id = ? AND id > ? ORDER BY id LIMIT ?", [
      id,
      after,
      pageSize
    ])

  return (id) =>
    turns.read(Effect.gen(function*() {
      const messages = readable(
        yield* select<Row>(operation, "SELECT id, data FROM message WHERE session_id = ? ORDER BY id", [id]),
        decodeMessage
      )
      const unreadable = [...messages.unreadable]
      const partsOf = new Map(messages.rows.map((info) => [info.id, [] as Array<Part>]))
      for (let rows = yield* page(id, ""); rows.length > 0;) {
        const parts = readable(rows, decodePart)
        for (const part of parts.rows) partsOf.get(part.messageID)?.push(part)
        unreadable.push(...parts.unreadable)
        const last = rows.length < pageSize ? undefined : rows.at(-1)
        if (last === undefined) break
        yield* Effect.yieldNow()
        rows = yield* page(id, last.id)
      }
      return { rows: messages.rows.map((info) => ({ info, parts: partsOf.get(info.id) ?? [] })), unreadable }
    }))
}
