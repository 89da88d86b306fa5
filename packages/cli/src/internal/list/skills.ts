/** What `skein skills` does. */
import { formatIssue } from "@skein/config/ConfigError"
import { load } from "@skein/config/SkillFiles"
import * as Effect from "effect/Effect"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { platform } from "../app.ts"
import { escapeLine } from "../escape.ts"
import { errorLine } from "../explain.ts"
import { directoryOf } from "../place.ts"
import { printList } from "./print.ts"

/** Lists the skills. Those that cannot be used are told on standard error, and make it fail. */
export const listSkills = ({ flags }: {
  readonly flags: { readonly format: "default" | "json"; readonly full: boolean; readonly dir: string | undefined }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const { broken, skills, warnings } = yield* Effect.flatMap(directoryOf(flags.dir), load)
    for (const issue of warnings) stdio.err(`skein: ${escapeLine(formatIssue(issue))}`)
    const code = yield* printList({
      format: flags.format,
      full: flags.full,
      json: skills.map(({ text: _text, ...skill }) => skill),
      head: ["SKILL", "FROM", "DESCRIPTION"],
      rows: skills.map(({ description, name, origin }) => [name, origin, description]),
      empty: "There are no skills. A folder with a SKILL.md in .skein/skills is one."
    })
    for (const { message } of broken) stdio.err(errorLine(message))
    return broken.length === 0 ? code : ExitCode.usage
  }).pipe(Effect.provide(platform({})))
