/** Changes the mode of a tree. New calls use it immediately; open questions are reconsidered after a short delay. */
import type { SessionID } from "@skein/domain/Id"
import { type Mode, modeOf } from "@skein/domain/Mode"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Agent } from "../../Agent.ts"
import { Config } from "../../Config.ts"
import { Confinement } from "../../Confinement.ts"
import { Journal } from "../../Journal.ts"
import { Permission } from "../../Permission.ts"
import type { Live } from "../live/Live.ts"
import { switchMode } from "../live/mode.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { logUnstored } from "../logUnstored.ts"
import { bindTree } from "./bindTree.ts"

/** The delay, because a person who cycles through the modes with a key passes modes that would answer a question. */
const delay = "2 seconds"

/** The changes of the root; fails before any of them if the agent does not exist or the mode is refused. */
const patchOf = Effect.fnUntraced(function*(root: Live, mode: Mode) {
  if (mode === "auto") yield* (yield* Confinement).auto
  const { settings } = yield* Config
  const patch = switchMode(root.info, mode, settings.default_agent)
  const agents = yield* Agent
  if (patch.agent !== undefined) {
    yield* agents.get(patch.agent)
    yield* bindTree(root, patch.agent)
  }
  return patch
})

/** Reconsiders the open questions of a tree after the delay, unless its mode changes again before. */
const answerLater = (root: Live) => {
  const { modeChanges } = root.record
  return Effect.sleep(delay).pipe(
    Effect.zipRight(Permission),
    Effect.flatMap(({ reconsider }) =>
      root.record.modeChanges === modeChanges ? reconsider(root.info.id) : Effect.void
    ),
    Effect.catchAll(logUnstored("The answers of a changed mode could not be stored")),
    Effect.forkIn(root.scope)
  )
}

/** Changes the mode of a session's tree. */
export const changeMode = Effect.fn("Session.setMode")(function*(id: SessionID, mode: Mode) {
  const table = yield* SessionTable
  const journal = yield* Journal
  const { rootID } = (yield* table.open(id)).info
  return yield* table.work(rootID, (root) =>
    Effect.gen(function*() {
      if (modeOf(root.info) === mode) return root.info
      const patch = yield* table.inProject(root, patchOf(root, mode))
      const now = yield* Clock.currentTimeMillis
      yield* journal.commit([root.record.change(now, patch)])
      yield* answerLater(root)
      return root.info
    }))
})
