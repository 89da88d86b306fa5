/** What `skein init` does. */
import { jsonSchema } from "@skein/config/ConfigSchema"
import { FileNotMade, makeFile } from "@skein/config/EditConfig"
import * as InstructionFiles from "@skein/config/InstructionFiles"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import { existsSync } from "node:fs"
import { join, relative } from "node:path"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { platform, settle } from "../app.ts"
import { directoryOf, projectOf } from "../place.ts"

const schemaPath = ".skein/schema.json"

/** Writes the first skein.json of a project, with a schema for editors. Lists what else Skein reads there. */
export const initProject = ({ flags }: {
  readonly flags: { readonly dir: string | undefined }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const root = yield* Effect.flatMap(directoryOf(flags.dir), projectOf)
    const other = join(root, "skein.jsonc")
    if (existsSync(other)) {
      return yield* new FileNotMade({ path: other, message: `${other} already exists: this project has its config.` })
    }
    const { files } = yield* settle(root)
    const instructions = yield* InstructionFiles.load(root, [])
    const made = [
      yield* makeFile(join(root, "skein.json"), `${JSON.stringify({ $schema: `./${schemaPath}` }, undefined, 2)}\n`)
    ]
    const schema = join(root, schemaPath)
    if (!existsSync(schema)) {
      made.push(yield* makeFile(schema, `${JSON.stringify(yield* jsonSchema, undefined, 2)}\n`))
    }
    for (const path of made) stdio.out(`${escapeLine(path)}\n`)
    const within = [...files, ...instructions.files].map((path) => relative(root, path)).filter((path) =>
      !path.startsWith("..")
    )
    if (within.length > 0) stdio.err(`skein: read here as well: ${escapeLine(within.join(", "))}`)
    if (instructions.files.length === 0) {
      stdio.err("skein: there is no AGENTS.md here; `skein run --command init` has a model write one")
    }
    return ExitCode.done
  }).pipe(Effect.provide(platform({})))
