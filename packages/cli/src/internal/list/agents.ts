/** What `skein agents` does. */
import { formatRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import type { CommandError } from "../../CommandSpec.ts"
import type { Stdio } from "../../Stdio.ts"
import { platform, settle } from "../app.ts"
import { directoryOf } from "../place.ts"
import { printList } from "./print.ts"
import { remark } from "./remarks.ts"

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
