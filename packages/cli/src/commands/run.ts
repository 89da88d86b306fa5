/** `skein run`, and what `skein` does on a terminal if no command is named. */
import { commandBody } from "../CommandSpec.ts"
import { runFlags, sessionFlags } from "../internal/flags.ts"

/** Prompts an agent and prints its answer. */
export const run = commandBody({
  details:
    "The prompt is the text on the command line, followed by standard input if that is not a terminal.\nIn the text, @PATH attaches a file, @AGENT asks for that subagent, and /NAME at the beginning runs a command.",
  operands: "[prompt…]",
  flags: runFlags,
  load: () => import("../internal/run/execute.ts").then(({ executeRun }) => executeRun)
})

/** Opens a session at the terminal. */
export const session = commandBody({
  operands: "[prompt…]",
  flags: sessionFlags,
  load: () => import("../internal/session/execute.ts").then(({ executeSession }) => executeSession)
})
