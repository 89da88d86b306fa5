/** The flags of a session at the terminal. */
import type { Flags } from "../../CommandSpec.ts"
import { runFlags } from "../run/flags.ts"

/** Those about output, and about the end of the program, need one that prints an answer and exits. */
const { format: _format, "no-wait": _noWait, ...shared } = runFlags

/** The flags: all others of `skein run`, and its own. */
export const sessionFlags = {
  ...shared,
  plain: { type: "switch", description: "Prints lines and reads lines, for screen readers; so does TERM=dumb" },
  resume: { type: "switch", description: "Shows the sessions to choose from" }
} as const satisfies Flags
