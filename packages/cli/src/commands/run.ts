/** Declares `skein run`. */
import { command } from "../CommandSpec.ts"
import { runFlags } from "../internal/run/flags.ts"

/** Prompts an agent and prints its answer. */
export const run = command({
  name: "run",
  aliases: ["agent"],
  summary: "Prompts an agent, and prints its answer",
  details:
    "The prompt is what stands on the command line, and what comes on standard input when that is no terminal.\nIn typed words, @PATH attaches a file, @AGENT asks for that subagent, and /NAME at the beginning is a command.",
  operands: { usage: "[prompt…]", least: 0, most: Infinity },
  flags: runFlags,
  load: () => import("../internal/run/execute.ts").then(({ executeRun }) => executeRun)
})
