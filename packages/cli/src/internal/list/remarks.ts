/** Tells what of the files of a project does not count. */
import { type ConfigIssue, formatIssue } from "@skein/config/ConfigError"
import { summarise } from "@skein/config/Notes"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import { Stdio } from "../../Stdio.ts"

/** Tells it on standard error: what somebody must know in full, all else as counts in one line. */
export const remark = (issues: ReadonlyArray<ConfigIssue>): Effect.Effect<void, never, Stdio> =>
  Effect.map(Stdio, (stdio) => {
    const { line, loud } = summarise(issues)
    for (const issue of loud) stdio.err(`skein: ${escapeLine(formatIssue(issue))}`)
    if (line !== undefined) stdio.err(`skein: ${line}`)
  })
