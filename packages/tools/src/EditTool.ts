/** The tool `edit`: replaces a text in a file that the session has read. */
import * as FileSystem from "@effect/platform/FileSystem"
import { define, type Tool } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { changeAsks } from "./internal/asks.ts"
import { makeFileChanges } from "./internal/edit/fileChanges.ts"
import { fileDiff, preview } from "./internal/edit/lineDiff.ts"
import { foundEdit, replaceText } from "./internal/edit/replaceText.ts"
import { refuse } from "./internal/refusal.ts"
import { Paths, type Target } from "./Paths.ts"
import { SeenFiles } from "./SeenFiles.ts"

const description =
  `Replaces text in a file that this session has read. oldString must match exactly (without the line numbers of read) and only once: include lines around it, or set replaceAll. Line ends are kept.`

const Parameters = Schema.Struct({
  filePath: Schema.String.annotations({ description: "Absolute or relative" }),
  oldString: Schema.String.annotations({ description: "Text to replace" }),
  newString: Schema.String.annotations({ description: "Its replacement" }),
  replaceAll: Schema.optional(
    Schema.Boolean.annotations({ description: "Replace every match (false)" })
  )
})

/** The parameters of `edit`. */
export interface EditInput extends Schema.Schema.Type<typeof Parameters> {}

const check = ({ newString, oldString }: EditInput) => {
  if (oldString === "") {
    return refuse(
      "invalid_arguments",
      "edit.oldString is empty. Give the text to replace, or use write to make a file."
    )
  }
  return oldString === newString
    ? refuse("invalid_arguments", "edit.oldString and edit.newString are the same. There is nothing to change.")
    : Effect.void
}

/** Makes `edit`. */
export const makeEdit: Effect.Effect<Tool<EditInput, Target>, never, FileSystem.FileSystem | Paths | SeenFiles> = Effect
  .gen(
    function*() {
      const paths = yield* Paths
      const seen = yield* SeenFiles
      const { apply, existing, requireSeen, tidy } = yield* makeFileChanges(yield* FileSystem.FileSystem, seen)

      return define<EditInput, Target>({
        name: "edit",
        describe: description,
        parameters: Parameters,
        effect: "verify",
        title: (input) => input.filePath,
        authorise: Effect.fnUntraced(function*(input, caller) {
          yield* check(input)
          const target = yield* paths.decide(input.filePath, caller)
          const metadata = { filePath: target.shown, diff: preview(input.oldString, input.newString) }
          return { asks: changeAsks([target], { metadata, consents: caller.consents }), plan: target }
        }),
        execute: Effect.fnUntraced(function*(input, context, plan) {
          const target = yield* paths.confirm(plan, input.filePath, context)
          const change = Effect.gen(function*() {
            const before = yield* existing(context, target)
            if (before === undefined) {
              return yield* refuse(
                "not_found",
                `${target.shown} does not exist. Check the path, or use write to make the file.`
              )
            }
            yield* requireSeen(context.sessionID, target, before.bytes)
            const { newString, oldString, replaceAll = false } = input
            const replaced = yield* replaceText(before.bytes, { oldString, newString, replaceAll, shown: target.shown })
            const notes = yield* apply(context, [{ target, before, after: replaced.bytes }])
            return { lines: replaced.lines, notes, shown: fileDiff(before.bytes, replaced.bytes) }
          })
          const { lines, notes, shown } = yield* seen.alone([target.real])(change)
          const places = lines.length === 1
            ? `line ${lines[0]}`
            : `${lines.length} places, the first at line ${lines[0]}`
          return {
            title: target.shown,
            output: [`Edited ${target.shown} at ${places}.`, ...notes].join("\n"),
            metadata: {
              filePath: target.shown,
              replacements: lines.length,
              ...(shown ?? { diff: preview(input.oldString, input.newString) })
            }
          }
        }),
        // Never repeated: `execute` requires that the session has read this version of the file, which is not known after
        // a crash.
        recover: Effect.fnUntraced(function*(input, context) {
          yield* check(input)
          const target = yield* paths.decide(input.filePath, context)
          const { shown } = target
          yield* tidy(context, [target])
          const now = yield* existing(context, target)
          const found = now === undefined ? undefined : foundEdit(now.bytes, input)
          if (found?.state === "made") {
            const { lines: [first, ...more] } = found
            const place = first === undefined
              ? ""
              : `, and newString is at line ${first}${more.length > 0 ? " first" : ""}`
            return {
              title: shown,
              output:
                `Skein ended while this call was made. The edit was found done: oldString is no longer in ${shown}${place}. Read the file before you change it again.`,
              metadata: {
                filePath: shown,
                replacements: input.replaceAll === true ? Math.max(found.lines.length, 1) : 1,
                diff: preview(input.oldString, input.newString)
              }
            }
          }
          const what = found?.state === "open"
            ? `The edit was not made: oldString is still in ${shown}, and newString is not in its place. Read the file and make it again.`
            : found === undefined
            ? `Skein cannot tell whether the edit was made: ${shown} no longer exists. Check where it went.`
            : `Skein cannot tell whether the edit was made: neither oldString nor newString is in ${shown}. Read it to see what is there.`
          return yield* refuse("interrupted", `Skein ended while this call was made. ${what}`)
        })
      })
    }
  )
