/** What `skein skills` does. */
import { load } from "@skein/config/SkillFiles"
import * as Effect from "effect/Effect"
import type { CommandError } from "../../CommandSpec.ts"
import { Stdio } from "../../Stdio.ts"
import { platform } from "../app.ts"
import { errorLine } from "../explain.ts"
import { directoryOf } from "../place.ts"
import { printList } from "./print.ts"
import { remark } from "./remarks.ts"

/** Lists the skills. Those that cannot be used are named on standard error. */
export const listSkills = ({ flags }: {
  readonly flags: { readonly format: "default" | "json"; readonly full: boolean; readonly dir: string | undefined }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const { broken, skills, warnings } = yield* Effect.flatMap(directoryOf(flags.dir), load)
    yield* remark(warnings)
    const code = yield* printList({
      format: flags.format,
      full: flags.full,
      json: skills.map(({ text: _text, ...skill }) => skill),
      head: ["SKILL", "FROM", "DESCRIPTION"],
      rows: skills.map(({ description, name, origin }) => [name, origin, description]),
      empty: "There are no skills. A folder with a SKILL.md in .skein/skills is one."
    })
    for (const { message } of broken) stdio.err(errorLine(message))
    return code
  }).pipe(Effect.provide(platform({})))
