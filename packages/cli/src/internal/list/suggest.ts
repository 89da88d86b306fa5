/** What `skein permissions suggest` does: shows the rules that past approvals suggest, and how to write them. */
import { enough, type Suggestion, suggestionsFor } from "@skein/server/Suggestions"
import * as Effect from "effect/Effect"
import type { CommandError } from "../../CommandSpec.ts"
import { Stdio } from "../../Stdio.ts"
import { directoryOf, projectOf } from "../place.ts"
import { printList } from "./print.ts"
import { readableDatabase } from "./sessions.ts"

/** The rules as a config file has them. */
const asConfig = (suggestions: ReadonlyArray<Suggestion>): string => {
  const permission: Record<string, Record<string, "allow">> = {}
  for (const { pattern, permission: key } of suggestions) (permission[key] ??= {})[pattern] = "allow"
  return JSON.stringify({ permission }, undefined, 2)
}

/** Lists them, with the config that contains them. */
export const suggestPermissions = ({ flags }: {
  readonly flags: {
    readonly format: "default" | "json"
    readonly full: boolean
    readonly dir: string | undefined
    readonly db: string | undefined
  }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const projectID = yield* Effect.flatMap(directoryOf(flags.dir), projectOf)
    const suggestions = yield* suggestionsFor(projectID)
    const code = yield* printList({
      format: flags.format,
      full: flags.full,
      json: suggestions,
      head: ["TIMES", "PERMISSION", "PATTERN"],
      rows: suggestions.map(({ pattern, permission, times }) => [String(times), permission, pattern]),
      empty: `No request was allowed ${enough} times by hand in this project.`
    })
    if (flags.format === "default" && suggestions.length > 0) {
      const stdio = yield* Stdio
      stdio.out(
        `\nTo stop being asked, add this to your own config or to a trusted skein.json:\n${asConfig(suggestions)}\n`
      )
    }
    return code
  }).pipe(Effect.provide(readableDatabase(flags.db)))
