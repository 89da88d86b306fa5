/** Deletes a session with everything below it; its usage stays counted above it. */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import { Workspaces } from "../../Workspaces.ts"
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

const idsOf = (
  live: Live,
  below: (id: SessionID) => ReadonlyArray<Live>
): readonly [SessionID, ...Array<SessionID>] => [
  live.info.id,
  ...below(live.info.id).flatMap((child) => idsOf(child, below))
]

const remove = Effect.fnUntraced(function*(live: Live) {
  const table = yield* SessionTable
  const journal = yield* Journal
  const leases = yield* Leases
  yield* leases.remove(idsOf(live, table.below), journal.commit([{ _tag: "DeleteSession", info: live.info }]))
  yield* table.close(live.info.id)
  const { id, workspace } = live.info
  if (workspace !== undefined) yield* (yield* Workspaces).forget(id, workspace)
}, Effect.uninterruptible)
