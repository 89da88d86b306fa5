/** `skein init` and `skein upgrade`: set Skein up. */
import { jsonSchema } from "@skein/config/ConfigSchema"
import { FileNotMade, makeFile } from "@skein/config/EditConfig"
import * as InstructionFiles from "@skein/config/InstructionFiles"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import { existsSync } from "node:fs"
import { join, relative } from "node:path"
import { commandBody } from "../CommandSpec.ts"
import { settle } from "../internal/app.ts"
import { directoryFlags } from "../internal/flags.ts"
import { directoryOf, projectOf } from "../internal/place.ts"
import { warn } from "../internal/print.ts"
import { version } from "../internal/version.ts"
import { Stdio } from "../Stdio.ts"

const schemaPath = ".skein/schema.json"

/** Writes the first skein.json of a project, with a schema for editors. Lists what else Skein reads there. */
export const init = commandBody({
  details: "Overwrites nothing, and lists the files of OpenCode and Claude Code that Skein reads here as well.",
  flags: directoryFlags,
  run: ({ flags }) =>
    Effect.gen(function*() {
      const { out } = yield* Stdio
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
      for (const path of made) out(`${escapeLine(path)}\n`)
      const within = [...files, ...instructions.files].map((path) => relative(root, path)).filter((path) =>
        !path.startsWith("..")
      )
      if (within.length > 0) yield* warn(`read here as well: ${escapeLine(within.join(", "))}`)
      if (instructions.files.length === 0) {
        yield* warn("there is no AGENTS.md here; `skein run --command init` has a model write one")
      }
    })
})

/** Prints how to install a newer version, and never installs anything itself. */
export const upgrade = commandBody({
  details: "It changes nothing and asks no server. Run the printed line yourself.",
  flags: {},
  run: () =>
    Effect.map(Stdio, ({ err, out }) => {
      // A tarball, because the registry has no Skein package that you can trust yet.
      out("npm i -g ./skein-X.Y.Z.tgz\n")
      err(
        `This is Skein ${version}. The packages are not in the npm registry yet, so you build the tarball:\n`
          + "update your clone, run `npm run build` and `npm pack -w packages/cli` in it, and use the name of the file that it prints."
      )
    })
})
