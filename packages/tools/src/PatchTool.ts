/** The tool `patch`: adds, changes, moves and removes several files, or none of them. */
import * as FileSystem from "@effect/platform/FileSystem"
import { define, type PermissionAsk, type Tool, type ToolCaller, type ToolError } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { changeAsks, lookAsks } from "./internal/asks.ts"
import { type Change, makeFileChanges } from "./internal/edit/fileChanges.ts"
import { bounded, type FileDiff, filesDiff } from "./internal/edit/lineDiff.ts"
import { applyHunks, type FilePatch, type FoundPatch, foundPatch, parsePatch } from "./internal/edit/patch.ts"
import { refuse } from "./internal/refusal.ts"
import { Paths, type Target } from "./Paths.ts"
import { SeenFiles } from "./SeenFiles.ts"

const description =
  `Changes several files, all or nothing. Takes a unified diff (--- a/x, +++ b/x, @@ …) or an apply_patch block:
*** Begin Patch
*** Update File: src/a.ts
@@ function around it
 kept line
-old line
+new line
*** Add File: b.ts
+first line
*** Delete File: c.ts
*** End Patch
The first line of an update may be *** Move to: NEW PATH. Paths are relative to the working directory.`

/** How many files a patch may change. */
const mostFiles = 500

const Parameters = Schema.Struct({ patchText: Schema.String.annotations({ description: "The whole patch" }) })

/** The parameters of `patch`. */
export interface PatchInput extends Schema.Schema.Type<typeof Parameters> {}

interface Located {
  readonly patch: FilePatch
  readonly from: Target
  /** The new path of the file; equal to `from` if it is not moved. */
  readonly to: Target
}

const targetsOf = (located: ReadonlyArray<Located>): ReadonlyArray<Target> =>
  located.flatMap(({ from, to }) => (from.real === to.real ? [from] : [from, to]))

/** What a patch does to a file, for its result. */
const intended = ({ from, patch, to }: Located): ReadonlyArray<string> =>
  patch.kind === "add"
    ? [`A ${from.shown}`]
    : patch.kind === "delete"
    ? [`D ${from.shown}`]
    : from.real === to.real
    ? [`M ${from.shown}`]
    : [`A ${to.shown}`, `D ${from.shown}`]

const resultOf = (
  files: ReadonlyArray<string>,
  word: string,
  changed: FileDiff | undefined = undefined,
  notes: ReadonlyArray<string> = []
) => ({
  title: files.length === 1 ? (files[0] as string) : `${files.length} files`,
  output: [`${word}:`, ...files, ...notes].join("\n"),
  metadata: { files, ...changed }
})

const listed = (changes: ReadonlyArray<Change>): ReadonlyArray<string> =>
  changes.map(({ after, before, target }) =>
    `${before === undefined ? "A" : after === undefined ? "D" : "M"} ${target.shown}`
  )

type FileChanges = Effect.Effect.Success<ReturnType<typeof makeFileChanges>>

/** Resolves the paths of all files in a patch. */
const locate = (
  input: PatchInput,
  caller: ToolCaller,
  find: (path: string, caller: ToolCaller) => Effect.Effect<Target, ToolError>
) =>
  Effect.flatMap(parsePatch(input.patchText), (files) =>
    Effect.forEach(files, (patch) =>
      Effect.gen(function*() {
        const from = yield* find(patch.path, caller)
        const to = patch.kind === "update" && patch.to !== undefined ? yield* find(patch.to, caller) : from
        return { patch, from, to } satisfies Located
      })))

/** Refuses a patch of very many files: each of them is written to the disk by itself, and all of them stay open meanwhile. */
const requireFew = ({ length }: ReadonlyArray<FilePatch>) =>
  length <= mostFiles
    ? Effect.void
    : refuse("too_large", `The patch has ${length} files; the limit is ${mostFiles}. Split it, or use bash.`)

/** Refuses a patch that names a file twice. */
const requireDistinct = (located: ReadonlyArray<Located>) => {
  const known = new Set<string>()
  const double = targetsOf(located).find(({ real }) => known.size === known.add(real).size)
  return double === undefined
    ? Effect.void
    : refuse(
      "malformed_patch",
      `The patch names ${double.shown} twice. Put all changes of one file into one section.`
    )
}

/** The result of a patch on the current contents of one file. */
const changesOf = Effect.fnUntraced(function*(
  { existing, requireSeen }: FileChanges,
  call: Pick<ToolCaller, "sessionID" | "rootID" | "directory">,
  { from, patch, to }: Located
) {
  const before = yield* existing(call, from)
  if (patch.kind === "add") {
    if (before !== undefined) {
      return yield* refuse("exists", `${from.shown} exists already, so it cannot be added. Update it instead.`)
    }
    const after = yield* applyHunks(new Uint8Array(), patch.hunks, from.shown)
    return [{ target: from, before, after }]
  }
  if (before === undefined) {
    return yield* refuse(
      "not_found",
      `${from.shown} does not exist, so it cannot be changed. Check the path, or add the file.`
    )
  }
  yield* requireSeen(call.sessionID, from, before.bytes, { orUnseen: true })
  const after = yield* applyHunks(before.bytes, patch.hunks, from.shown)
  if (patch.kind === "delete") return [{ target: from, before, after: undefined }]
  if (to.real === from.real) return [{ target: from, before, after }]
  if ((yield* existing(call, to)) !== undefined) {
    return yield* refuse(
      "exists",
      `${to.shown} exists already, so ${from.shown} cannot be moved there. Choose another name.`
    )
  }
  return [
    { target: to, before: undefined, after, mode: before.mode },
    { target: from, before, after: undefined }
  ]
})

/** One file of a patch that a crash may have interrupted. */
interface Found {
  readonly each: Located
  readonly from: Uint8Array | undefined
  readonly state: FoundPatch
}

/** Finds out for each file whether its patch was applied. */
const lookAt = (
  { existing }: FileChanges,
  call: Pick<ToolCaller, "rootID" | "directory">,
  located: ReadonlyArray<Located>
) =>
  Effect.forEach(located, (each) =>
    Effect.gen(function*() {
      const from = (yield* existing(call, each.from))?.bytes
      const to = each.from.real === each.to.real ? from : (yield* existing(call, each.to))?.bytes
      return { each, from, state: foundPatch(each.patch, from, to) } satisfies Found
    }))

const those = (found: ReadonlyArray<Found>, state: FoundPatch): ReadonlyArray<string> =>
  found.flatMap((one) => one.state === state ? intended(one.each) : [])

/** Says which changes of a partly applied patch were made. */
const halfMade = (found: ReadonlyArray<Found>) => {
  const part = (words: string, state: FoundPatch) => {
    const files = those(found, state)
    return files.length === 0 ? "" : `\n${words}:\n${files.join("\n")}`
  }
  return refuse(
    "interrupted",
    `Skein ended while the patch was applied.${part("These changes are made", "made")}${
      part("These are not made", "open")
    }${part("May or may not be changed", "unknown")}\nRead the files, and patch what is missing.`
  )
}

/**
 * The permission to read what a patch changes, moves or removes: it shows whether lines are in a file, and may move it to where
 * it can be read.
 */
const readAsks = (located: ReadonlyArray<Located>): ReadonlyArray<PermissionAsk> => {
  const asks = located.filter(({ patch }) => patch.kind !== "add").flatMap(({ from }) =>
    lookAsks("read", from, { pattern: from.shown, directory: false, metadata: { filePath: from.shown } })
  ).filter(({ permission }) => permission === "read")
  const plain = asks.filter((ask) => ask.protected !== true)
  const patterns = plain.flatMap((ask) => ask.patterns)
  const [first] = plain
  return [
    ...asks.filter((ask) => ask.protected === true),
    ...(first === undefined
      ? []
      : [{ ...first, patterns, always: plain.flatMap((ask) => ask.always), metadata: { files: patterns } }])
  ]
}

/** Makes `patch`. */
export const makePatch: Effect.Effect<
  Tool<PatchInput, ReadonlyArray<Located>>,
  never,
  FileSystem.FileSystem | Paths | SeenFiles
> = Effect.gen(
  function*() {
    const paths = yield* Paths
    const seen = yield* SeenFiles
    const files = yield* makeFileChanges(yield* FileSystem.FileSystem, seen)

    return define<PatchInput, ReadonlyArray<Located>>({
      name: "patch",
      permission: "edit",
      describe: description,
      parameters: Parameters,
      effect: "verify",
      title: (input) => `patch of ${input.patchText.length} characters`,
      authorise: Effect.fnUntraced(function*(input, caller) {
        yield* Effect.flatMap(parsePatch(input.patchText), requireFew)
        const located = yield* locate(input, caller, paths.decide)
        yield* requireDistinct(located)
        const targets = targetsOf(located)
        const metadata = { files: targets.map(({ shown }) => shown), diff: bounded(input.patchText.split("\n")) }
        const changes = changeAsks(targets, { metadata, consents: caller.consents })
        return { asks: [...readAsks(located), ...changes], plan: located }
      }),
      execute: Effect.fnUntraced(function*(_, context, plan) {
        const located = yield* Effect.forEach(plan, (each) =>
          Effect.gen(function*() {
            const { patch } = each
            const from = yield* paths.confirm(each.from, patch.path, context)
            const moves = patch.kind === "update" && patch.to !== undefined
            const to = moves ? yield* paths.confirm(each.to, patch.to, context) : from
            return { patch, from, to } satisfies Located
          }))
        const change = Effect.gen(function*() {
          const changes: ReadonlyArray<Change> = (yield* Effect.forEach(located, (each) =>
            changesOf(files, context, each))).flat()
          const notes = yield* files.apply(context, changes)
          const shown = filesDiff(changes.map(({ after, before, target }) => [target.shown, before?.bytes, after]))
          return { names: listed(changes), notes, shown }
        })
        const { names, notes, shown } = yield* seen.alone(targetsOf(located).map(({ real }) => real))(change)
        return resultOf(names, "The patch was applied", shown, notes)
      }),
      recover: Effect.fnUntraced(function*(input, context) {
        const located = yield* locate(input, context, paths.decide)
        yield* files.tidy(context, targetsOf(located))
        const found = yield* lookAt(files, context, located)
        if (found.every(({ state }) => state === "open")) return "again"
        if (!found.every(({ state }) => state === "made")) return yield* halfMade(found)
        for (const { each, from } of found) {
          if (each.patch.kind === "add" && from !== undefined) seen.note(context.sessionID, each.from.real, from)
        }
        return resultOf(those(found, "made"), "Skein ended while this call was made. The patch was found applied")
      })
    })
  }
)
