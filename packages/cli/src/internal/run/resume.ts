/** What `skein sessions resume` does: a run that continues a session. */
import type { Input } from "../../CommandSpec.ts"
import { executeRun } from "./execute.ts"
import type { promptFlags } from "./flags.ts"

/** Runs it. */
export const resumeSession = ({ flags, operands: [session, ...operands] }: Input<typeof promptFlags>) =>
  executeRun(
    { flags: { ...flags, session, continue: false, fork: false, title: undefined, command: undefined }, operands },
    "may be silent"
  )
