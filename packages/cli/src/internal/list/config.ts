/** What `skein config` does. */
import { describeConfig } from "@skein/config/ConfigDescription"
import { formatIssue } from "@skein/config/ConfigError"
import { jsonSchema } from "@skein/config/ConfigSchema"
import { load as loadInstructions } from "@skein/config/InstructionFiles"
import * as Effect from "effect/Effect"
import { basename } from "node:path"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { platform, settle } from "../app.ts"
import { escapeLine } from "../escape.ts"
import { directoryOf } from "../place.ts"
import { printList } from "./print.ts"

/** Shows every value with its origin; what does not count is told on standard error. */
export const showConfig = ({ flags }: {
  readonly flags: { readonly format: "default" | "json"; readonly full: boolean; readonly dir: string | undefined }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const directory = yield* directoryOf(flags.dir)
    const settled = yield* settle(directory)
    const instructions = yield* loadInstructions(directory, settled.settings.instructions ?? [])
    const { json, rows } = describeConfig(settled)
    const warnings = [...settled.warnings, ...instructions.warnings]
    for (const issue of warnings) stdio.err(`skein: ${escapeLine(formatIssue(issue))}`)
    return yield* printList({
      format: flags.format,
      full: flags.full,
      json: {
        config: json,
        origins: Object.fromEntries(rows.map(({ origin, path }) => [path, origin])),
        files: settled.files,
        instructions: instructions.files,
        warnings
      },
      head: ["KEY", "VALUE", "FROM"],
      rows: [
        ...rows.map(({ origin, path, value }) => [
          path,
          typeof value === "string" ? value : JSON.stringify(value),
          origin
        ]),
        ...instructions.files.map((file) => ["(instructions)", basename(file), file])
      ],
      empty: "Nothing is configured."
    })
  }).pipe(Effect.provide(platform({})))

/** Prints what an editor may know of skein.json. */
export const showSchema = (): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    stdio.out(`${JSON.stringify(yield* jsonSchema, undefined, 2)}\n`)
    return ExitCode.done
  })
