/** Reports which parts of a project's files are ignored. */
import { type ConfigIssue, formatIssue, summarise } from "@skein/config/ConfigError"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import { Stdio } from "../../Stdio.ts"

/** Writes to standard error: what users must know in full, the rest as counts in one line. */
export const remark = (issues: ReadonlyArray<ConfigIssue>): Effect.Effect<void, never, Stdio> =>
  Effect.map(Stdio, (stdio) => {
    const { line, loud } = summarise(issues)
    for (const issue of loud) stdio.err(`skein: ${escapeLine(formatIssue(issue))}`)
    if (line !== undefined) stdio.err(`skein: ${line}`)
  })
