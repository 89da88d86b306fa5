/** The tool `grep`: finds texts in files. */
import * as FileSystem from "@effect/platform/FileSystem"
import { bound } from "@skein/core/Spill"
import { define, type PermissionAsk, type Tool, type ToolError } from "@skein/core/Tool"
import type { Action } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { isOutside, lookAsks } from "./internal/asks.ts"
import { cannot, refuse } from "./internal/refusal.ts"
import { hasOtherNames, Paths, type Target } from "./Paths.ts"
import { below, incomplete, lookingIn, placeOf, Ripgrep, type RipgrepEnd, search } from "./Ripgrep.ts"

/** The number of lines or files in a result: by default, and at most. */
const limits = { usual: 250, maximum: 1_900 }

/** How many bytes of a line are shown. */
const maximumColumns = 500

const description =
  `Searches files (ripgrep's syntax, no look-around). Gives path:line:text, paths (mode files) or path:count (mode count), sorted by path; ${limits.usual} lines unless limit says otherwise. Cuts lines at ${maximumColumns} characters. Skips what .gitignore names, binary files, .env files, and what you may not read.`

const Parameters = Schema.Struct({
  pattern: Schema.NonEmptyString.annotations({ description: "Regular expression" }),
  path: Schema.optional(
    Schema.String.annotations({ description: "File or directory (working directory)" })
  ),
  glob: Schema.optional(
    Schema.NonEmptyString.annotations({ description: "Only such files: *.ts" })
  ),
  mode: Schema.optional(
    Schema.Literal("content", "files", "count").annotations({
      description: "What to show (content)"
    })
  ),
  limit: Schema.optional(
    Schema.Number.pipe(Schema.int(), Schema.between(1, limits.maximum)).annotations({
      description: `Most lines or files (${limits.usual})`
    })
  )
})

/** The parameters of `grep`. */
export interface GrepInput extends Schema.Schema.Type<typeof Parameters> {}

const modes = {
  content: ["--line-number", "--no-heading", `--max-columns=${maximumColumns}`, "--max-columns-preview"],
  files: ["--files-with-matches"],
  count: ["--count"]
}

/**
 * Limits the files. As a type of file, a pattern respects ignore files. A pattern with a slash cannot be written as a
 * type.
 */
const globArgs = (glob: string): ReadonlyArray<string> => {
  const name = glob.replace(/^(\*\*\/)+/, "")
  return /^[^!/:][^/:]*$/.test(name)
    ? ["--type-add", `wanted:${name}`, "--type=wanted"]
    : [`--glob=${glob.replace(/^\.\//, "/")}`]
}

/** Whether ripgrep only reports that it could not read some files. */
const isOfFiles = (complaints: string): boolean =>
  complaints.split("\n").every((line) => line === "" || /\(os error \d+\)\.?$/.test(line))

const isDirectory = (fs: FileSystem.FileSystem, target: Target) =>
  Effect.map(
    Effect.mapError(fs.stat(target.real), cannot("look in", target.shown)),
    ({ type }) => type === "Directory"
  )

const asks = Effect.fnUntraced(function*(fs: FileSystem.FileSystem, input: GrepInput, target: Target) {
  const metadata = { pattern: input.pattern, path: target.shown }
  const own = lookAsks("grep", target, { pattern: input.pattern, directory: true, metadata })
  if (target.place === "spill" || input.path === undefined) return own
  const looked = isDirectory(fs, target)
  // An agent that may not look outside must not learn what exists there.
  if (yield* target.place === "outside" ? Effect.orElseSucceed(looked, () => false) : looked) return own
  // Searching one file reveals its contents, so it needs the same permission as reading it.
  const read: PermissionAsk = { permission: "read", patterns: [target.shown], always: [], metadata }
  return [...own, read]
})

const fault = (input: GrepInput, end: RipgrepEnd | undefined): Effect.Effect<void, ToolError> =>
  end?.code === 2 && !isOfFiles(end.complaints)
    ? refuse("invalid_arguments", `ripgrep cannot search for ${input.pattern}: ${end.complaints.trim()}`)
    : Effect.void

/** A line of the result, and the file that contains it. */
interface Line {
  readonly name: string
  readonly line: string
}

/** The result of a search. */
interface Search {
  readonly found: ReadonlyArray<Line>
  /** Whether there are more results. */
  readonly isCut: boolean
  /** How ripgrep ended; undefined if it took too long. */
  readonly end: RipgrepEnd | undefined
  /** The files that are left out because they are hard links. */
  readonly linked: ReadonlySet<string>
}

/** The hard links in a directory. Each may lead anywhere, and nobody was asked about it. */
const linkedIn = (directory: string, target: Target, found: ReadonlyArray<Line>) =>
  Effect.map(
    Effect.filter(
      [...new Set(found.map(({ name }) => name))].filter((name) =>
        target.place === "inside" && isOutside({ ...target, shown: below(target, name), linked: true })
      ),
      (name) => hasOtherNames(`${directory}/${name}`),
      { concurrency: 16 }
    ),
    (names) => new Set(names)
  )

/** No file has this name, so the rules for it are the rules for files in general. */
const anyFile = "\u0001"

/** Which files of a directory are searched. If every file needs a question, the question for the search covers them. */
const readable = (action: (path: string) => Action) => {
  const isAsked = action(anyFile) === "ask" ? "ask" : "allow"
  return (path: string) => ["allow", isAsked].includes(action(path))
}

/** Searches a file or a directory. It stops when the result is full. */
const find = (
  ripgrep: typeof Ripgrep.Service,
  { glob, limit = limits.usual, mode = "content", pattern }: GrepInput,
  target: Target,
  inDirectory: boolean,
  mayRead: (path: string) => boolean,
  hides: ((path: string) => boolean) | undefined
) =>
  lookingIn(target, ({ forOthers, path }) => {
    const found: Array<Line> = []
    let bytes = 0
    let isCut = false
    const searching = search(ripgrep, {
      args: [
        ...modes[mode],
        "--null",
        "--with-filename",
        "--sort=path",
        ...(glob === undefined ? [] : globArgs(glob)),
        ...(inDirectory ? ["--glob=!.env", "--glob=!.env.*"] : []),
        `--regexp=${pattern}`,
        "--",
        inDirectory ? "./" : forOthers
      ],
      directory: inDirectory ? path : "/",
      separator: mode === "files" ? "\0" : "\n",
      each: (record) => {
        const [name = "", ...text] = record.split("\0")
        const shown = inDirectory ? below(target, name) : target.shown
        // Without a note: it would reveal that an omitted file matches.
        if (inDirectory && (!mayRead(shown) || hides?.(name) === true)) return true
        const line = mode === "files" ? shown : `${shown}:${text.join("\0")}`
        bytes += Buffer.byteLength(line) + 1
        isCut = found.length === limit || bytes > bound.bytes - 1_024
        if (!isCut) found.push({ name, line })
        return !isCut
      }
    })
    return Effect.flatMap(searching, (end) =>
      Effect.map(
        inDirectory ? linkedIn(path, target, found) : Effect.succeed(new Set<string>()),
        (linked): Search => ({ found, isCut, end, linked })
      ))
  })

/** What the model has to know about an incomplete result. */
const notesOf = (
  { limit = limits.usual }: GrepInput,
  target: Target,
  { end, found, isCut, linked }: Search,
  shown: number
): ReadonlyArray<string> => [
  ...(isCut
    ? [
      `(The first ${shown}; there are more: narrow pattern, path or glob${
        found.length === limit ? ", or set limit" : ""
      }.)`
    ]
    : []),
  ...(linked.size === 0 ? [] : [
    `(Left out: what was found in ${linked.size} hard links, which may lead outside. Look at them by path: ${
      [...linked].slice(0, 3).map((name) => below(target, name)).join(", ")
    }.)`
  ]),
  ...(end === undefined ? [incomplete.late] : []),
  ...[incomplete.unreadable(end?.complaints ?? "")].filter((note) => note !== undefined)
]

/** Makes `grep`. */
export const makeGrep: Effect.Effect<Tool<GrepInput, Target>, never, FileSystem.FileSystem | Paths | Ripgrep> = Effect
  .gen(
    function*() {
      const fs = yield* FileSystem.FileSystem
      const paths = yield* Paths
      const ripgrep = yield* Ripgrep

      return define<GrepInput, Target>({
        name: "grep",
        describe: description,
        parameters: Parameters,
        effect: "safe",
        title: (input) => input.pattern,
        authorise: (input, caller) =>
          input.pattern.includes("\0") || input.glob?.includes("\0") === true
            ? refuse("invalid_arguments", "grep.pattern and grep.glob must not contain a NUL character. Leave it out.")
            : Effect.flatMap(paths.decide(input.path ?? ".", caller), (target) =>
              Effect.map(asks(fs, input, target), (found) => ({ asks: found, plan: target }))),
        execute: Effect.fnUntraced(function*(input, context, plan) {
          const target = yield* paths.confirm(plan, input.path ?? ".", context)
          const action = yield* Effect.mapError(context.readAction, cannot("look in", target.shown))
          const searched = yield* find(
            ripgrep,
            input,
            target,
            yield* isDirectory(fs, target),
            readable(action),
            paths.hides(target, "contents")
          )
          const { end, found, isCut, linked } = searched
          yield* fault(input, end)
          const shown = found.filter(({ name }) => !linked.has(name)).map(({ line }) => line)
          const notes = notesOf(input, target, searched, shown.length)
          const text = shown.length === 0 ? `No matches for ${input.pattern} in ${placeOf(target)}.` : shown.join("\n")
          return {
            title: input.pattern,
            output: [text, ...(notes.length > 0 ? [""] : []), ...notes].join("\n"),
            metadata: {
              pattern: input.pattern,
              path: target.shown,
              mode: input.mode ?? "content",
              count: shown.length,
              cut: isCut
            }
          }
        })
      })
    }
  )
