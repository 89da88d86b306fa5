/** Keeps the files of a tree after a step that may have changed them, for hosts that may have to continue it. */
import type { SessionID } from "@skein/domain/Id"
import type { ToolPart } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import { logUnstored } from "../../StorageError.ts"
import { Workspaces } from "../../Workspaces.ts"
import type { LiveMessage } from "../live/History.ts"
import type { Live } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"

/** Whether calls of an answer have begun that may have changed files. */
const mayHaveChanged = (message: LiveMessage, calls: ReadonlyArray<ToolPart>): boolean => {
  const ids = new Set(calls.map(({ id }) => id))
  return message.parts.some((part) =>
    part.type === "tool" && ids.has(part.id) && part.intent !== undefined && part.intent.effect !== "safe"
  )
}

const isIsolated = (live: Live): boolean =>
  live.info.worktree !== undefined || (live.parent !== undefined && isIsolated(live.parent))

/** Stores why the last step is not kept, or that it is. By then, the tree may have been elsewhere. */
const tell = Effect.fnUntraced(function*(rootID: SessionID, failure: string | undefined) {
  const root = (yield* SessionTable).peek(rootID)
  if (root?.info.workspace === undefined || root.info.workspace.failure === failure) return
  const { workspace } = root.info
  const { failure: _, ...rest } = workspace
  const journal = yield* Journal
  yield* journal.commit([
    root.record.annotate({ workspace: failure === undefined ? rest : { ...rest, failure } })
  ])
}, Effect.catchAll(logUnstored("Whether the last step is kept could not be stored")))

/** Keeps the files of a tree as they are now. Never fails: the root says why they are not kept. */
export const keepFiles = Effect.fnUntraced(function*(live: Live) {
  const { root } = live
  const { directory, id: rootID, workspace } = root.info
  if (workspace === undefined || isIsolated(live)) return
  const context = yield* Effect.context<Journal | SessionTable>()
  const storage = yield* SessionStorage
  const leases = yield* Leases
  const workspaces = yield* Workspaces
  const { last: seq } = yield* storage.eventRange(rootID)
  yield* workspaces.keep(
    { rootID, directory, workspace, epoch: leases.epoch(rootID), seq },
    (failure) => Effect.provide(tell(rootID, failure), context)
  )
}, Effect.catchAll(logUnstored("The files of a step were not kept")))

/** The same after calls, unless they cannot have changed anything. */
export const keepStep = (live: Live, message: LiveMessage, calls: ReadonlyArray<ToolPart>) =>
  live.root.info.workspace !== undefined && mayHaveChanged(message, calls) ? keepFiles(live) : Effect.void
