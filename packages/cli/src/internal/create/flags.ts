/** The flags of `skein agents create`. */
import type { Flags } from "../../CommandSpec.ts"
import { directoryFlags, formatFlags, verboseFlags } from "../sharedFlags.ts"

/** The flags of `skein agents create`. */
export const createFlags = {
  name: { type: "text", value: "NAME", description: "The agent's name; by default the model chooses one" },
  mode: {
    type: "choice",
    choices: ["subagent", "primary", "all"],
    description: "subagent: for tasks of other agents; primary: for people; all: for both"
  },
  user: { type: "switch", description: "Writes it for all projects, next to your own skein.json" },
  model: {
    type: "text",
    short: "m",
    value: "PROVIDER/MODEL",
    description: "The model that designs it; by default the configured one"
  },
  ...formatFlags,
  ...directoryFlags,
  ...verboseFlags
} as const satisfies Flags
