/** Decides the agent for a mode, and which mode holds where a tree is taken up. In the mode `plan`, the agent `plan` works. */
import { type Mode, modeOf, planAgent } from "@skein/domain/Mode"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { Confinement } from "../../Isolation.ts"
import { Journal } from "../../Journal.ts"
import type { Live } from "./Live.ts"

type Patch = Partial<Pick<SessionInfo, "agent" | "agentBefore" | "mode">>

/** The changes of a session that switches to another agent. */
export const switchAgent = (info: SessionInfo, agent: string): Patch => {
  if (agent === info.agent) return {}
  if (info.parentID !== undefined) return { agent }
  if (agent === planAgent) return { agent, mode: "plan", agentBefore: info.agent }
  return modeOf(info) === "plan" ? { agent, mode: "ask" } : { agent }
}

/** The changes of a session that switches to another mode; `usual` is the agent to use if no earlier one is known. */
export const switchMode = (info: SessionInfo, mode: Mode, usual: string): Patch => {
  if (mode === modeOf(info)) return { mode }
  if (mode === "plan") return { mode, agent: planAgent, agentBefore: info.agent }
  return modeOf(info) === "plan"
    ? { mode, agent: info.agentBefore ?? (usual === planAgent ? "build" : usual) }
    : { mode }
}

/** The agent and mode of a new root session. */
export const startIn = (agent: string, mode: Mode | undefined): Patch & Pick<SessionInfo, "agent"> => {
  if (mode !== "plan") return mode === undefined ? { agent } : { agent, mode }
  return agent === planAgent ? { agent, mode } : { agent: planAgent, mode, agentBefore: agent }
}

/**
 * Takes a tree out of `auto` if nothing confines its commands here: the mode was chosen on another machine, or while
 * there was a sandbox. Runs with the services of its project, before the tree does anything.
 */
export const leaveAuto = Effect.fnUntraced(function*(live: Live) {
  const root = live.parent?.root ?? live
  if (modeOf(root.info) !== "auto") return
  const allowed = yield* Effect.either((yield* Confinement).auto)
  if (Either.isRight(allowed) || modeOf(root.info) !== "auto") return
  const journal = yield* Journal
  yield* journal.commit([root.record.change(yield* Clock.currentTimeMillis, { mode: "ask" })])
  yield* Effect.annotateLogs(
    Effect.logWarning(`The session ${root.info.id} continues in the mode ask. ${allowed.left.message}`),
    "notice",
    true
  )
})
