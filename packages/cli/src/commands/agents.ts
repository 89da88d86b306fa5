/** Declares `skein agents`. */
import { command } from "../CommandSpec.ts"
import { directoryFlags, formatFlags, verboseFlags } from "./listing.ts"

/** Lists the agents. */
export const agents = command({
  name: "agents",
  summary: "Lists the agents",
  flags: { ...formatFlags, ...directoryFlags, ...verboseFlags },
  load: () => import("../internal/list/agents.ts").then(({ listAgents }) => listAgents)
})
