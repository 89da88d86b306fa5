/** Removes what is kept of deleted sessions for other hosts. */
import * as ConfigFiles from "@skein/config/ConfigFiles"
import { DataDirs } from "@skein/config/DataDirs"
import { Workspaces } from "@skein/core/Workspaces"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import { workspaces } from "../app.ts"

/** Removes it, and waits until that is done. What cannot be removed is logged. */
export const forgetSteps = Effect.fnUntraced(function*(deleted: ReadonlyArray<SessionInfo>) {
  const kept = deleted.filter(({ workspace }) => workspace !== undefined)
  if (kept.length === 0) return
  const { home } = yield* DataDirs
  const { settings } = yield* ConfigFiles.load({ directory: home })
  const forgetting = Effect.gen(function*() {
    const { forget, settled } = yield* Workspaces
    for (const { id, workspace } of kept) if (workspace !== undefined) yield* forget(id, workspace)
    yield* settled
  })
  yield* Effect.provide(forgetting, yield* workspaces(settings))
})
