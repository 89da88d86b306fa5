/** The tool `list`: shows which files there are, as a tree. */
import * as FileSystem from "@effect/platform/FileSystem"
import { define, type Tool } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { lookAsks } from "./internal/asks.ts"
import { fileTree } from "./internal/files/fileTree.ts"
import { eachFile, lookingIn, requireDirectory } from "./internal/files/workspaceFiles.ts"
import { cannot } from "./internal/refusal.ts"
import { Paths, type Target } from "./Paths.ts"
import { Ripgrep } from "./Ripgrep.ts"

const description =
  `Shows the files below a directory as a tree, directories first, with their numbers of files. Among many files, deep directories stay closed: list those. Skips what .gitignore names.`

const Parameters = Schema.Struct({
  path: Schema.optional(Schema.String.annotations({ description: "Directory (working directory)" }))
})

/** The parameters of `list`. */
export interface ListInput extends Schema.Schema.Type<typeof Parameters> {}

/** How many omitted names are listed. */
const maximumLeft = 20

/** Makes `list`. */
export const makeList: Effect.Effect<Tool<ListInput, Target>, never, FileSystem.FileSystem | Paths | Ripgrep> = Effect
  .gen(
    function*() {
      const fs = yield* FileSystem.FileSystem
      const paths = yield* Paths
      const ripgrep = yield* Ripgrep

      return define<ListInput, Target>({
        name: "list",
        describe: description,
        parameters: Parameters,
        effect: "safe",
        title: (input) => input.path ?? ".",
        authorise: (input, caller) =>
          Effect.map(paths.decide(input.path ?? ".", caller), (target) => ({
            asks: lookAsks("list", target, {
              pattern: target.shown,
              directory: true,
              metadata: { path: target.shown }
            }),
            plan: target
          })),
        execute: Effect.fnUntraced(function*(input, context, plan) {
          const target = yield* paths.confirm(plan, input.path ?? ".", context)
          yield* requireDirectory(fs, target)
          const tree = fileTree()
          const notes = yield* eachFile(ripgrep, target, paths.hides(target), tree.add)
          const names = yield* lookingIn(
            target,
            ({ path }) => Effect.mapError(fs.readDirectory(path), cannot("list", target.shown))
          )
          const left = names.filter((name) => !tree.has(name) && name !== ".git").toSorted()
          const { count, isWhole, text } = tree.draw()
          const output = [
            `${target.shown === "." ? target.real : target.shown} (${count} ${count === 1 ? "file" : "files"})`,
            ...(text === "" ? [] : [text]),
            ...(isWhole && left.length === 0 && notes.length === 0 ? [] : [""]),
            ...(isWhole ? [] : ["(Not all is shown: list a directory to see what is in it.)"]),
            ...(left.length === 0
              ? []
              : [
                `(Ignored, empty or links: ${left.slice(0, maximumLeft).join(", ")}${
                  left.length > maximumLeft ? ` and ${left.length - maximumLeft} more` : ""
                })`
              ]),
            ...notes
          ]
          return { title: target.shown, output: output.join("\n"), metadata: { path: target.shown, count } }
        })
      })
    }
  )
