/** Decides the agent for a mode: in the mode `plan`, the agent `plan` works. */
import { type Mode, modeOf, planAgent } from "@skein/domain/Mode"
import type { SessionInfo } from "@skein/domain/SessionInfo"

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
