/** The tool `read`: shows a file with line numbers, the contents of a directory, or an image. */
import * as FileSystem from "@effect/platform/FileSystem"
import { define, type Tool, type ToolContext, type ToolError, type ToolResult } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { isUtf8 } from "node:buffer"
import { unsaved } from "./EditorFiles.ts"
import { imageType, isBinary } from "./FileKind.ts"
import { isOutside, lookAsks } from "./internal/asks.ts"
import { type Lines, lineWindow, maximumLine } from "./internal/files/lineWindow.ts"
import { holdFound, wholeFile } from "./internal/files/wholeFile.ts"
import { cannot, isMissing, refuse } from "./internal/refusal.ts"
import { Paths, type Target } from "./Paths.ts"
import { SeenFiles } from "./SeenFiles.ts"

const description =
  `Reads a file. Lines come numbered ("     1\\ttext"); number and tab are not in the file. Shows 2,000 lines unless limit says otherwise; a note says how to read on. Cuts lines at ${maximumLine} characters. Shows you images (PNG, JPEG, GIF, WebP). Lists directories.`

const Parameters = Schema.Struct({
  filePath: Schema.String.annotations({
    description: "Absolute or relative"
  }),
  offset: Schema.optional(
    Schema.Number.pipe(Schema.int(), Schema.greaterThanOrEqualTo(1)).annotations({
      description: "First line, from 1"
    })
  ),
  limit: Schema.optional(
    Schema.Number.pipe(Schema.int(), Schema.greaterThanOrEqualTo(1)).annotations({
      description: "How many lines (2000)"
    })
  )
})

/** The parameters of `read`. */
export interface ReadInput extends Schema.Schema.Type<typeof Parameters> {}

/** The maximum number of bytes of a file in memory. A longer file is read in pieces, and cannot be edited. */
export const maximumFile = 8 * 1024 * 1024

/** The maximum size of an image, in bytes. */
const maximumImage = 5 * 1024 * 1024

const shownText = (
  input: ReadInput,
  target: Target,
  lines: Lines,
  more: ReadonlyArray<string>
): Effect.Effect<ToolResult, ToolError> => {
  const { cut, last, text, total } = lines
  const first = input.offset ?? 1
  if (first > 1 && first > total) {
    return refuse(
      "invalid_arguments",
      `${target.shown} has ${total} lines: offset ${first} is beyond its end. Give a smaller offset.`
    )
  }
  const notes = [
    ...(total === 0 ? ["(The file is empty.)"] : []),
    ...(first > 1 || last < total
      ? [`(Lines ${first} to ${last} of ${total}.${last < total ? ` To read on, give offset ${last + 1}.` : ""})`]
      : []),
    ...(cut > 0 ? [`(${cut} of these lines are longer than ${maximumLine} characters and are cut.)`] : []),
    ...more
  ]
  return Effect.succeed({
    title: target.shown,
    output: notes.length === 0 ? text : `${text}${text === "" ? "" : "\n\n"}${notes.join("\n")}`,
    metadata: { filePath: target.shown, first, last, total }
  })
}

const binary = (target: Target, size: number) =>
  refuse(
    "binary",
    `${target.shown} is not a text file (${size} bytes), so it is not shown. Use bash to look into it, for example with file or xxd.`
  )

const image = (target: Target, mime: string, bytes: Buffer): Effect.Effect<ToolResult, ToolError> =>
  bytes.length > maximumImage
    ? refuse(
      "too_large",
      `${target.shown} is an image of ${bytes.length} bytes, and ${maximumImage} is the most. Make it smaller first.`
    )
    : Effect.succeed({
      title: target.shown,
      output: `${target.shown} is attached (${mime}, ${bytes.length} bytes).`,
      metadata: { filePath: target.shown, mime },
      attachments: [{
        mime,
        filename: target.shown.slice(target.shown.lastIndexOf("/") + 1),
        url: `data:${mime};base64,${bytes.toString("base64")}`
      }]
    })

type Find = Effect.Effect.Success<typeof unsaved>

const unsavedNote = "(This is unsaved text from the editor; commands and searches still see the saved file.)"

const invalid = "(The file is not valid UTF-8: what could not be read is shown as \uFFFD.)"

/** Shows a text that is in memory as a whole. */
const wholeText = (
  seen: typeof SeenFiles.Service,
  input: ReadInput,
  target: Target,
  context: ToolContext,
  bytes: Buffer,
  notes: ReadonlyArray<string> = []
) => {
  seen.note(context.sessionID, target.real, bytes)
  const text = bytes.toString("utf8")
  const window = lineWindow(input.offset ?? 1, input.limit ?? Infinity)
  window.feed(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
  const isValid = !text.includes("\uFFFD") || isUtf8(bytes)
  return shownText(input, target, window.end(), isValid ? notes : [invalid, ...notes])
}

/** Shows a file that is in memory as a whole, or what its editor has of it. */
const whole = (
  seen: typeof SeenFiles.Service,
  find: Find,
  input: ReadInput,
  target: Target,
  context: ToolContext,
  bytes: Buffer
) => {
  const mime = imageType(bytes)
  if (mime !== undefined) return image(target, mime, bytes)
  if (isBinary(bytes)) return binary(target, bytes.length)
  return Effect.matchEffect(find(target, context, bytes), {
    onFailure: ({ message }) =>
      wholeText(seen, input, target, context, bytes, [`(${message} This is the file on disk.)`]),
    onSuccess: (found) =>
      found === undefined
        ? wholeText(seen, input, target, context, bytes)
        : wholeText(seen, input, target, context, found.bytes, [unsavedNote])
  })
}

/** Shows a file that only the editor has so far. */
const missingOnDisk = (
  seen: typeof SeenFiles.Service,
  find: Find,
  input: ReadInput,
  target: Target,
  context: ToolContext,
  otherwise: Effect.Effect<ToolResult, ToolError>
) =>
  find(target, context, undefined).pipe(
    Effect.orElseSucceed(() => undefined),
    Effect.flatMap((found) =>
      found === undefined ? otherwise : wholeText(seen, input, target, context, found.bytes, [unsavedNote])
    )
  )

/** Permission was for a file with one name. If it has other names now, it may be a file from outside. */
const requireNames = (target: Target, names: number) =>
  names > 1 && target.place === "inside" && isOutside({ ...target, linked: true }) && !target.linked
    ? refuse(
      "moved",
      `${target.shown} is a hard link now, and was none when permission was given. Call the tool again.`
    )
    : Effect.void

/** Shows a long file, which is read in pieces. */
const pieces = Effect.fnUntraced(function*(
  fs: FileSystem.FileSystem,
  input: ReadInput,
  target: Target,
  size: number
) {
  const decoder = new TextDecoder()
  const window = lineWindow(input.offset ?? 1, input.limit ?? Infinity)
  let isFirst = true
  let isValid = true
  let isText = true
  const { path } = yield* Effect.mapError(holdFound(target.real), cannot("read", target.shown))
  const { nlink } = yield* Effect.mapError(fs.stat(path), cannot("read", target.shown))
  yield* requireNames(target, Option.getOrElse(nlink, () => 1))
  yield* fs.stream(path).pipe(
    Stream.takeWhile((bytes) => {
      if (isFirst) isText = !isBinary(bytes)
      isFirst = false
      return isText
    }),
    Stream.runForEach((bytes) =>
      Effect.sync(() => {
        const text = decoder.decode(bytes, { stream: true })
        isValid &&= !text.includes("\uFFFD")
        window.feed(text)
      })
    ),
    Effect.mapError(cannot("read", target.shown))
  )
  if (!isText) return yield* binary(target, size)
  window.feed(decoder.decode())
  return yield* shownText(input, target, window.end(), isValid ? [] : [invalid])
}, Effect.scoped)

const missing = (similarNames: ReturnType<typeof makeSimilarNames>, target: Target) =>
  Effect.flatMap(similarNames(target.real), (names) =>
    refuse(
      "not_found",
      `${target.shown} does not exist.${
        names.length === 0 ? "" : ` Similar names in its directory: ${names.join(", ")}.`
      }`
    ))

/** Makes `read`. */
export const makeRead: Effect.Effect<Tool<ReadInput, Target>, never, FileSystem.FileSystem | Paths | SeenFiles> = Effect
  .gen(
    function*() {
      const fs = yield* FileSystem.FileSystem
      const paths = yield* Paths
      const seen = yield* SeenFiles
      const find = yield* unsaved
      const readDirectory = makeReadDirectory(fs)
      const similarNames = makeSimilarNames(fs)

      return define<ReadInput, Target>({
        name: "read",
        describe: description,
        parameters: Parameters,
        effect: "safe",
        title: (input) => input.filePath,
        authorise: (input, caller) =>
          Effect.map(paths.decide(input.filePath, caller), (target) => ({
            asks: lookAsks("read", target, {
              pattern: target.shown,
              directory: false,
              metadata: { filePath: target.shown }
            }),
            plan: target
          })),
        execute: (input, context, plan) =>
          Effect.flatMap(
            paths.confirm(plan, input.filePath, context),
            (target) =>
              Effect.matchEffect(wholeFile(target.real, maximumFile), {
                onFailure: (error): Effect.Effect<ToolResult, ToolError> =>
                  isMissing(error)
                    ? missingOnDisk(seen, find, input, target, context, missing(similarNames, target))
                    : Effect.fail(cannot("read", target.shown)(error)),
                onSuccess: (found): Effect.Effect<ToolResult, ToolError> => {
                  switch (found.type) {
                    case "file":
                      return Effect.zipRight(
                        requireNames(target, found.names),
                        Effect.suspend(() => whole(seen, find, input, target, context, found.bytes))
                      )
                    case "large":
                      return pieces(fs, input, target, found.size)
                    case "directory":
                      return readDirectory(target, input.offset ?? 1, input.limit ?? Infinity)
                    case "other":
                      return refuse(
                        "not_a_file",
                        `${target.shown} is a ${found.what}, and only files and directories can be read.`
                      )
                  }
                }
              })
          )
      })
    }
  )

/** How many similar names an error suggests. */
const maximumSimilar = 5

/** Names similar to a path that does not exist, from its directory; none if that directory cannot be read. */
export const makeSimilarNames = (fs: FileSystem.FileSystem) => (path: string): Effect.Effect<ReadonlyArray<string>> => {
  const at = path.lastIndexOf("/")
  const name = path.slice(at + 1).toLowerCase()
  const stem = name.replace(/\.[^.]*$/, "")
  return fs.readDirectory(path.slice(0, at) || "/").pipe(
    Effect.map((names) => {
      const similar = names.filter((other) => {
        const known = other.toLowerCase()
        const knownStem = known.replace(/\.[^.]*$/, "")
        return known === name || (stem !== "" && known.includes(stem)) ||
          (knownStem.length > 2 && stem.includes(knownStem))
      })
      return similar.toSorted().slice(0, maximumSimilar)
    }),
    // This is only a hint. If the directory cannot be read, reading it reports why.
    Effect.orElseSucceed(() => [])
  )
}

/** Lists a directory: one name a line, directories first and with a slash. */
export const makeReadDirectory = (fs: FileSystem.FileSystem) =>
  Effect.fnUntraced(
    function*(target: Target, offset: number, limit: number): Effect.fn.Return<ToolResult, ToolError, Scope.Scope> {
      const { path } = yield* Effect.mapError(holdFound(target.real), cannot("list", target.shown))
      const names = yield* Effect.mapError(fs.readDirectory(path), cannot("list", target.shown))
      const isDirectory = (name: string) =>
        fs.stat(`${path}/${name}`).pipe(
          Effect.map(({ type }) => type === "Directory"),
          // A broken link is listed too.
          Effect.orElseSucceed(() => false)
        )
      const directories = new Set(yield* Effect.filter(names, isDirectory, { concurrency: 16 }))
      const sorted = names.toSorted((a, b) =>
        Number(directories.has(b)) - Number(directories.has(a)) || (a < b ? -1 : 1)
      )
      const window = lineWindow(offset, limit)
      window.feed(sorted.map((name) => (directories.has(name) ? `${name}/` : name)).join("\n"))
      const { last, text, total } = window.end()
      const rest = last < total ? ` Shown: ${offset} to ${last}; to read on, give offset ${last + 1}.` : ""
      return {
        title: target.shown,
        output: `${text}${text === "" ? "" : "\n\n"}(${target.shown} is a directory with ${total} entries.${rest})`,
        metadata: { filePath: target.shown, total }
      }
    },
    Effect.scoped
  )
