/** Deletes a session with everything below it; its usage stays counted above it. */
import * as Effect from "effect/Effect"
import { Journal } from "../../Journal.ts"
import { halt } from "./halt.ts"
import type { Live } from "./Live.ts"
import { SessionTable } from "./SessionTable.ts"

/** Stops it, deletes it from storage, and forgets it. Meanwhile, lookups no longer find it. */
export const removeSession = (live: Live) =>
  Effect.suspend(() => {
    live.markRemoved(true)
    return Effect.zipRight(halt(live), remove(live))
  }).pipe(
    Effect.onError(() =>
      Effect.map(SessionTable, (table) => {
        live.markRemoved(table.peek(live.info.id) !== live)
      })
    )
  )

const remove = Effect.fnUntraced(function*(live: Live) {
  const table = yield* SessionTable
  const journal = yield* Journal
  yield* journal.commit([{ _tag: "DeleteSession", info: live.info }])
  yield* table.close(live.info.id)
}, Effect.uninterruptible)
