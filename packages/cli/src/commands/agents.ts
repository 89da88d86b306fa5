/** Declares `skein agents` and `skein skills`. */
import { command } from "../CommandSpec.ts"
import { createFlags, directoryFlags, listingFlags, verboseFlags } from "../internal/flags.ts"

const listFlags = { ...listingFlags, ...directoryFlags, ...verboseFlags } as const

const load = () => import("../internal/list/agents.ts").then(({ listAgents }) => listAgents)

const list = command({ name: "list", summary: "Lists the agents", flags: listFlags, load })

const create = command({
  name: "create",
  summary: "Has a model design an agent, and writes the file",
  details: "Writes .skein/agent/NAME.md in the project and prints its path. It never overwrites an agent or a file.",
  operands: { usage: "PURPOSE…", least: 1, most: Infinity },
  flags: createFlags,
  load: () => import("../internal/create/agent.ts").then(({ createAgent }) => createAgent)
})

/** Lists the agents, and makes new ones. */
export const agents = command({
  name: "agents",
  summary: "Lists the agents, and creates new ones",
  flags: listFlags,
  commands: [list, create],
  load
})

/** Lists the skills. */
export const skills = command({
  name: "skills",
  summary: "Lists the skills, and the files that cannot be used",
  flags: { ...listingFlags, ...directoryFlags, ...verboseFlags },
  load: () => import("../internal/list/agents.ts").then(({ listSkills }) => listSkills)
})
