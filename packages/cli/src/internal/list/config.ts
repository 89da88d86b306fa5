/** What `skein config` does. */
import { load as loadCommands } from "@skein/config/CommandFiles"
import { describeConfig } from "@skein/config/ConfigDescription"
import { type ConfigIssue, formatIssue } from "@skein/config/ConfigError"
import { jsonSchema } from "@skein/config/ConfigSchema"
import { load as loadInstructions } from "@skein/config/InstructionFiles"
import { load as loadSkills } from "@skein/config/SkillFiles"
import * as Effect from "effect/Effect"
import { basename } from "node:path"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { platform, settle, type Settled } from "../app.ts"
import { errorLine } from "../explain.ts"
import { directoryOf } from "../place.ts"
import { providerCheck } from "../providers.ts"
import { printList, remark } from "./print.ts"

interface Flags {
  readonly format: "default" | "json"
  readonly full: boolean
  readonly dir: string | undefined
  readonly notes: boolean
}

/** All notes on the files that apply in a directory: config, agents, instructions, commands and skills. */
const remarksOn = Effect.fnUntraced(function*(directory: string, settled: Settled) {
  const commands = yield* loadCommands(directory, { ...settled, whyNot: yield* providerCheck })
  const skills = yield* loadSkills(directory, settled.grants)
  const broken = [...commands.broken, ...skills.broken].map(({ message }) => message)
  return {
    warnings: [...commands.warnings, ...skills.warnings],
    broken
  }
})

/** Everything that is shown about the settings of a directory. */
export const describedConfig = Effect.fnUntraced(function*(directory: string) {
  const settled = yield* settle(directory)
  const instructions = yield* loadInstructions(directory, settled.settings.instructions ?? [], settled.grants)
  const others = yield* remarksOn(directory, settled)
  const { json, rows } = describeConfig(settled)
  return {
    rows,
    broken: others.broken,
    json: {
      config: json,
      origins: Object.fromEntries(rows.map(({ origin, path }) => [path, origin])),
      files: settled.files,
      instructions: instructions.files,
      warnings: [...settled.warnings, ...instructions.warnings, ...others.warnings]
    }
  }
})

const kinds = {
  broken: "left out",
  note: "note",
  left_out: "left out",
  restriction: "restriction",
  trust: "waits for trust"
} as const

/** Lists the notes on the files that apply here. */
const showNotes = Effect.fnUntraced(function*(
  { format }: Flags,
  warnings: ReadonlyArray<ConfigIssue>,
  broken: ReadonlyArray<string>
) {
  const stdio = yield* Stdio
  const code = yield* printList({
    format,
    // Do not truncate the messages: they would lose their meaning.
    full: true,
    json: warnings,
    head: ["KIND", "WHERE", "WHAT"],
    rows: warnings.map((issue) => {
      const { message } = issue
      const whole = formatIssue(issue)
      return [issue.kind === undefined ? "-" : kinds[issue.kind], whole.slice(0, -message.length - 2), message]
    }),
    empty: "Nothing in the files of this directory is ignored."
  })
  for (const message of broken) stdio.err(errorLine(message))
  return code
})

/**
 * Shows every value with its origin, or the ignored values. In the first case, standard error gets a summary of the
 * latter.
 */
export const showConfig = ({ flags }: { readonly flags: Flags }): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const directory = yield* directoryOf(flags.dir)
    const { broken, json, rows } = yield* describedConfig(directory)
    const { instructions, warnings } = json
    if (flags.notes) return yield* showNotes(flags, warnings, broken)
    yield* remark(warnings)
    for (const message of broken) stdio.err(errorLine(message))
    return yield* printList({
      format: flags.format,
      full: flags.full,
      json,
      head: ["KEY", "VALUE", "FROM"],
      rows: [
        ...rows.map(({ origin, path, value }) => [
          path,
          typeof value === "string" ? value : JSON.stringify(value),
          origin
        ]),
        ...instructions.map((file) => ["(instructions)", basename(file), file])
      ],
      empty: "Nothing is configured."
    })
  }).pipe(Effect.provide(platform({})))

/** Prints the JSON Schema of skein.json, for editors. */
export const showSchema = (): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    stdio.out(`${JSON.stringify(yield* jsonSchema, undefined, 2)}\n`)
    return ExitCode.done
  })
