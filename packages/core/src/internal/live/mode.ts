/** Decides how agent and mode of a session go together: in the mode `plan` the agent of that name works. */
import { type Mode, modeOf, planAgent } from "@skein/domain/Mode"
import type { SessionInfo } from "@skein/domain/SessionInfo"

type Patch = Partial<Pick<SessionInfo, "agent" | "agentBefore" | "mode">>

/** What changes when another agent works from now on. */
export const switchAgent = (info: SessionInfo, agent: string): Patch => {
  if (agent === info.agent) return {}
  if (info.parentID !== undefined) return { agent }
  if (agent === planAgent) return { agent, mode: "plan", agentBefore: info.agent }
  return modeOf(info) === "plan" ? { agent, mode: "ask" } : { agent }
}

/** What changes when another mode holds from now on; `usual` is the agent where none is known from before. */
export const switchMode = (info: SessionInfo, mode: Mode, usual: string): Patch => {
  if (mode === modeOf(info)) return { mode }
  if (mode === "plan") return { mode, agent: planAgent, agentBefore: info.agent }
  return modeOf(info) === "plan"
    ? { mode, agent: info.agentBefore ?? (usual === planAgent ? "build" : usual) }
    : { mode }
}

/** What a root session begins with. */
export const startIn = (agent: string, mode: Mode | undefined): Patch & Pick<SessionInfo, "agent"> => {
  if (mode !== "plan") return mode === undefined ? { agent } : { agent, mode }
  return agent === planAgent ? { agent, mode } : { agent: planAgent, mode, agentBefore: agent }
}
