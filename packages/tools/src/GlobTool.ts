/** The tool `glob`: finds files by their names. */
import * as FileSystem from "@effect/platform/FileSystem"
import { bound } from "@skein/core/Spill"
import { define, type Tool, type ToolError } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { lookAsks } from "./internal/asks.ts"
import { compileGlob } from "./internal/files/globPattern.ts"
import { below, eachFile, placeOf, requireDirectory } from "./internal/files/workspaceFiles.ts"
import { refuse } from "./internal/refusal.ts"
import { Paths, type Target } from "./Paths.ts"
import { Ripgrep } from "./Ripgrep.ts"

/** The maximum number of files in a result. */
const maximumFiles = 1_000

const description =
  `Finds files by name. A pattern without a slash looks in all directories. Gives sorted paths relative to the working directory, at most ${maximumFiles}. Skips what .gitignore names.`

const Parameters = Schema.Struct({
  pattern: Schema.NonEmptyString.annotations({
    description: "Such as **/*.ts or src/{api,web}/[a-z]?.md"
  }),
  path: Schema.optional(Schema.String.annotations({ description: "Where to look (working directory)" }))
})

/** The parameters of `glob`. */
export interface GlobInput extends Schema.Schema.Type<typeof Parameters> {}

/** A pattern relative to the searched directory. */
const relativePattern = (pattern: string, target: Target): Either.Either<string, string> => {
  if (pattern.startsWith(`${target.real}/`)) return Either.right(pattern.slice(target.real.length))
  if (pattern.split("/").includes("..")) return Either.left("it has .. in it; give the directory as path")
  if (/^(\/|~\/)/.test(pattern)) {
    return Either.left(`it is not below ${target.real}; give that directory as path, and the pattern from there`)
  }
  return Either.right(pattern)
}

/** Makes `glob`. */
export const makeGlob: Effect.Effect<Tool<GlobInput, Target>, never, FileSystem.FileSystem | Paths | Ripgrep> = Effect
  .gen(
    function*() {
      const fs = yield* FileSystem.FileSystem
      const paths = yield* Paths
      const ripgrep = yield* Ripgrep

      const matcher = (pattern: string, target: Target): Effect.Effect<(path: string) => boolean, ToolError> =>
        Either.match(Either.flatMap(relativePattern(pattern, target), compileGlob), {
          onLeft: (reason) => refuse("invalid_arguments", `glob.pattern ${pattern} cannot be used: ${reason}.`),
          onRight: Effect.succeed
        })

      return define<GlobInput, Target>({
        name: "glob",
        describe: description,
        parameters: Parameters,
        effect: "safe",
        title: (input) => input.pattern,
        authorise: (input, caller) =>
          Effect.map(paths.decide(input.path ?? ".", caller), (target) => ({
            asks: lookAsks("glob", target, {
              pattern: input.pattern,
              directory: true,
              metadata: { pattern: input.pattern, path: target.shown }
            }),
            plan: target
          })),
        execute: Effect.fnUntraced(function*(input, context, plan) {
          const target = yield* paths.confirm(plan, input.path ?? ".", context)
          const matches = yield* matcher(input.pattern, target)
          yield* requireDirectory(fs, target)
          const found: Array<string> = []
          const notes = yield* eachFile(ripgrep, target, paths.hides(target), (path) => {
            if (matches(path)) {
              found.push(below(target, path))
            }
          })
          const sorted = found.toSorted()
          let bytes = 0
          const shown = sorted.slice(0, maximumFiles).filter((path) =>
            (bytes += Buffer.byteLength(path) + 1) < bound.bytes - 1_024
          )
          const rest = found.length > shown.length
            ? [`(The first ${shown.length} of ${found.length} files: narrow the pattern or the path.)`]
            : []
          const text = found.length === 0 ? `No files fit ${input.pattern} in ${placeOf(target)}.` : shown.join("\n")
          return {
            title: input.pattern,
            output: [text, ...(rest.length + notes.length > 0 ? [""] : []), ...rest, ...notes].join("\n"),
            metadata: { pattern: input.pattern, path: target.shown, count: found.length }
          }
        })
      })
    }
  )
