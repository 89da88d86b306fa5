/** What `skein sessions resume` does: a run that goes on with a session. */
import type { promptFlags } from "../../commands/run.ts"
import type { Input } from "../../CommandSpec.ts"
import { executeRun } from "./execute.ts"

/** What an agent is told where nothing else was typed. */
const goOn = "Continue where you left off."

/** Runs it. */
export const resumeSession = ({ flags, operands: [session, ...prompt] }: Input<typeof promptFlags>) =>
  executeRun({
    flags: { ...flags, session, continue: false, fork: false, title: undefined },
    operands: prompt.length === 0 && flags.file.length === 0 ? [goOn] : prompt
  })
