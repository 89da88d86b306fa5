/** Describes the settings of a directory, with all notes on the files that apply there. */
import { load as loadCommands } from "@skein/config/CommandFiles"
import { describeConfig } from "@skein/config/ConfigDescription"
import { load as loadInstructions } from "@skein/config/InstructionFiles"
import { load as loadSkills } from "@skein/config/SkillFiles"
import * as Effect from "effect/Effect"
import { settle } from "./app.ts"
import { providerCheck } from "./providers.ts"

/** The values with their origins. `broken` says of commands and skills why they cannot be used. */
export const describedConfig = Effect.fnUntraced(function*(directory: string) {
  const settled = yield* settle(directory)
  const instructions = yield* loadInstructions(directory, settled.settings.instructions ?? [], settled.grants)
  const commands = yield* loadCommands(directory, { ...settled, whyNot: yield* providerCheck })
  const skills = yield* loadSkills(directory, settled.grants)
  const { json, rows } = describeConfig(settled)
  return {
    rows,
    broken: [...commands.broken, ...skills.broken].map(({ message }) => message),
    json: {
      config: json,
      origins: Object.fromEntries(rows.map(({ origin, path }) => [path, origin])),
      files: settled.files,
      instructions: instructions.files,
      warnings: [...settled.warnings, ...instructions.warnings, ...commands.warnings, ...skills.warnings]
    }
  }
})
