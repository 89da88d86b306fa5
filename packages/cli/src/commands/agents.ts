/** Declares `skein agents`. */
import { command, type Flags } from "../CommandSpec.ts"
import { directoryFlags, formatFlags, listingFlags, verboseFlags } from "./listing.ts"

const listFlags = { ...listingFlags, ...directoryFlags, ...verboseFlags } as const

const load = () => import("../internal/list/agents.ts").then(({ listAgents }) => listAgents)

const list = command({ name: "list", summary: "Lists the agents", flags: listFlags, load })

/** The flags of `skein agents create`. */
export const createFlags = {
  name: { type: "text", value: "NAME", description: "The agent's name; otherwise the model finds one" },
  mode: {
    type: "choice",
    choices: ["subagent", "primary", "all"],
    description: "subagent: for tasks of other agents; primary: for people; all: for both"
  },
  user: { type: "switch", description: "Writes it for all projects, beside your own skein.json" },
  model: {
    type: "text",
    short: "m",
    value: "PROVIDER/MODEL",
    description: "The model that designs it; otherwise that of the config, or the default one"
  },
  ...formatFlags,
  ...directoryFlags,
  ...verboseFlags
} as const satisfies Flags

const create = command({
  name: "create",
  summary: "Has a model design an agent, and writes its file",
  details:
    "Writes .skein/agent/NAME.md of the project and prints its path. No agent and no file that is there is written over.",
  operands: { usage: "WHAT IT IS FOR…", least: 1, most: Infinity },
  flags: createFlags,
  load: () => import("../internal/create/agent.ts").then(({ createAgent }) => createAgent)
})

/** Lists the agents, and makes new ones. */
export const agents = command({
  name: "agents",
  summary: "Lists the agents",
  flags: listFlags,
  commands: [list, create],
  load
})
