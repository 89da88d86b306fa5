/** What `skein agents` and `skein skills` do. */
import { load } from "@skein/config/SkillFiles"
import { formatRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import type { CommandError } from "../../CommandSpec.ts"
import { Stdio } from "../../Stdio.ts"
import { platform, settle } from "../app.ts"
import { errorLine } from "../explain.ts"
import { directoryOf } from "../place.ts"
import { printList, remark } from "./print.ts"

/** Lists the agents. Hidden ones appear only in JSON. Agents whose files cannot be used are named on standard error. */
export const listAgents = ({ flags }: {
  readonly flags: { readonly format: "default" | "json"; readonly full: boolean; readonly dir: string | undefined }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const { agents, settings, warnings } = yield* Effect.flatMap(
      directoryOf(flags.dir),
      (directory) => settle(directory)
    )
    yield* remark(warnings)
    const sorted = agents.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    return yield* printList({
      format: flags.format,
      full: flags.full,
      json: sorted,
      head: ["AGENT", "MODE", "MODEL", "FROM", "DESCRIPTION"],
      rows: sorted.filter(({ hidden }) => !hidden).map(({ description, mode, model, name, origin }) => [
        name === settings.default_agent ? `${name} (default)` : name,
        mode,
        model.length === 0 ? "-" : model.map(formatRef).join(", "),
        origin,
        description
      ]),
      empty: "There are no agents."
    })
  }).pipe(Effect.provide(platform({})))

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
