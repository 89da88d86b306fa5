/** The flags of a session at the terminal. */
import type { Flags } from "../../CommandSpec.ts"
import { promptFlags, runFlags } from "../run/flags.ts"

/** The flags: those of `skein run` that say where and with what an agent works. */
export const sessionFlags = {
  agent: promptFlags.agent,
  model: promptFlags.model,
  dir: promptFlags.dir,
  mode: promptFlags.mode,
  auto: promptFlags.auto,
  sandbox: promptFlags.sandbox,
  db: promptFlags.db,
  attach: promptFlags.attach,
  verbose: promptFlags.verbose,
  "log-format": promptFlags["log-format"],
  session: runFlags.session,
  continue: runFlags.continue,
  plain: { type: "switch", description: "Prints lines and reads lines, for screen readers; so does TERM=dumb" },
  resume: { type: "switch", description: "Shows the sessions to choose from" }
} as const satisfies Flags
