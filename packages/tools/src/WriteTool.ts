/** The tool `write`: creates a file, or replaces all of it. */
import * as FileSystem from "@effect/platform/FileSystem"
import { define, type Tool } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { changeAsks } from "./internal/asks.ts"
import { makeFileChanges } from "./internal/edit/fileChanges.ts"
import { type FileDiff, fileDiff, preview } from "./internal/edit/lineDiff.ts"
import { refuse } from "./internal/refusal.ts"
import { Paths, type Target } from "./Paths.ts"
import { SeenFiles } from "./SeenFiles.ts"

const description =
  `Creates a file, with the directories above it, or replaces all of it. An existing file must have been read in this session. To change a part, use edit.`

const Parameters = Schema.Struct({
  filePath: Schema.String.annotations({ description: "Absolute or relative" }),
  content: Schema.String.annotations({ description: "The whole content" })
})

/** The parameters of `write`. */
export interface WriteInput extends Schema.Schema.Type<typeof Parameters> {}

const resultOf = (
  { shown }: Target,
  { length }: Uint8Array,
  done: "unchanged" | "created" | "replaced" | "found",
  { changed, notes = [] }: { readonly changed?: FileDiff | undefined; readonly notes?: ReadonlyArray<string> } = {}
) => {
  const output = {
    unchanged: `${shown} holds just that already: nothing was written.`,
    created: `Created ${shown} (${length} bytes).`,
    replaced: `Replaced ${shown} (${length} bytes).`,
    found:
      `Skein ended while this call was made. ${shown} was found to hold just that (${length} bytes): it is written.`
  }[done]
  return {
    title: shown,
    output: [output, ...notes].join("\n"),
    metadata: { filePath: shown, done, bytes: length, ...changed }
  }
}

/** Makes `write`. */
export const makeWrite: Effect.Effect<Tool<WriteInput, Target>, never, FileSystem.FileSystem | Paths | SeenFiles> =
  Effect.gen(
    function*() {
      const paths = yield* Paths
      const seen = yield* SeenFiles
      const { apply, existing, requireSeen, tidy } = yield* makeFileChanges(yield* FileSystem.FileSystem, seen)

      return define<WriteInput, Target>({
        name: "write",
        permission: "edit",
        describe: description,
        parameters: Parameters,
        effect: "verify",
        title: (input) => input.filePath,
        authorise: Effect.fnUntraced(function*(input, caller) {
          const target = yield* paths.decide(input.filePath, caller)
          const metadata = { filePath: target.shown, diff: preview("", input.content) }
          return { asks: changeAsks([target], { metadata, consents: caller.consents }), plan: target }
        }),
        execute: Effect.fnUntraced(function*(input, context, plan) {
          const target = yield* paths.confirm(plan, input.filePath, context)
          const after = Buffer.from(input.content)
          const change = Effect.gen(function*() {
            const before = yield* existing(context, target)
            if (before !== undefined && before.unsaved === undefined && after.equals(before.bytes)) {
              seen.note(context.sessionID, target.real, after)
              return { done: "unchanged" } as const
            }
            if (before !== undefined) yield* requireSeen(context.sessionID, target, before.bytes)
            const notes = yield* apply(context, [{ target, before, after }])
            const changed = fileDiff(before?.bytes, after)
            return { done: before === undefined ? "created" : "replaced", changed, notes } as const
          })
          const { done, ...more } = yield* seen.alone([target.real])(change)
          return resultOf(target, after, done, more)
        }),
        recover: Effect.fnUntraced(function*(input, context) {
          // This only checks. If the file is written again, the path is confirmed again.
          const target = yield* paths.decide(input.filePath, context)
          yield* tidy(context, [target])
          const after = Buffer.from(input.content)
          const found = yield* existing(context, target)
          if (found === undefined) return "again"
          if (!after.equals(found.bytes)) {
            return yield* refuse(
              "interrupted",
              `Skein ended while ${target.shown} was written, and it holds something else: either it was not written, or it was changed since. Read it, and write it again where that is still right.`
            )
          }
          seen.note(context.sessionID, target.real, after)
          return resultOf(target, after, "found")
        })
      })
    }
  )
