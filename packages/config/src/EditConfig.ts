/**
 * Writes config for its user: changes single values of a file and keeps everything else in it, and creates files that do
 * not exist yet.
 */
import * as FileSystem from "@effect/platform/FileSystem"
import type { AgentMode } from "@skein/domain/AgentInfo"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import { applyEdits, modify, parse, type ParseError, printParseErrorCode } from "jsonc-parser"
import { dirname, join } from "node:path"
import { DataDirs } from "./DataDirs.ts"
import { reason } from "./internal/readText.ts"

/** A file could not be created. */
export class FileNotMade extends Schema.TaggedError<FileNotMade>()("FileNotMade", {
  path: Schema.String,
  message: Schema.String
}) {}

/** The content of a new agent's file. */
export interface AgentText {
  readonly description: string
  readonly mode: AgentMode
  readonly prompt: string
}

/** The text of an agent's file. */
export const agentText = ({ description, mode, prompt }: AgentText): string =>
  // A JSON string is valid YAML. Text from a model must not refer to files or secrets.
  `---\ndescription: ${inert(JSON.stringify(description.replaceAll(/\s+/g, " ").trim()))}\nmode: ${mode}\n---\n\n${
    inert(prompt.trim())
  }\n`

const inert = (text: string): string => text.replaceAll(/\{(?=(?:env|file):)/g, "{ ")

/** Creates a file and its directories; an existing file stays unchanged. */
export const makeFile = Effect.fn("NewFile.makeFile")(function*(path: string, text: string) {
  const fs = yield* FileSystem.FileSystem
  yield* Effect.mapError(
    Effect.zipRight(
      fs.makeDirectory(dirname(path), { recursive: true }),
      fs.writeFileString(path, text, { flag: "wx" })
    ),
    (error) =>
      new FileNotMade({
        path,
        message: error._tag === "SystemError" && error.reason === "AlreadyExists"
          ? `${path} already exists. Remove it first, or choose another name.`
          : `${path} cannot be written: ${reason(error)}.`
      })
  )
  return path
})

/** A config file could not be changed; it is as it was. */
export class ConfigNotChanged extends Schema.TaggedError<ConfigNotChanged>()("ConfigNotChanged", {
  path: Schema.String,
  message: Schema.String
}) {}

const names = ["skein.jsonc", "skein.json"]

/** The config file of a directory: the one that is there, or the one to create. */
const fileIn = Effect.fnUntraced(function*(directory: string) {
  const fs = yield* FileSystem.FileSystem
  const there = yield* Effect.filter(
    names.map((name) => join(directory, name)),
    (path) => Effect.orElseSucceed(fs.exists(path), () => false)
  )
  return there[0] ?? join(directory, "skein.json")
})

/** The user's own config file. */
export const userFile = Effect.flatMap(DataDirs, ({ config }) => fileIn(config))

/** The config file at the root of a project. */
export const projectFile = fileIn

const read = Effect.fnUntraced(function*(path: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.readFileString(path).pipe(
    Effect.catchAll((error) =>
      error._tag === "SystemError" && error.reason === "NotFound"
        ? Effect.succeed("")
        : Effect.fail(new ConfigNotChanged({ path, message: `${path} cannot be read: ${reason(error)}.` }))
    )
  )
})

const parsed = Effect.fnUntraced(function*(path: string, text: string) {
  const errors: Array<ParseError> = []
  const value: unknown = parse(text, errors, { allowTrailingComma: true, allowEmptyContent: true })
  const [fault] = errors
  if (fault === undefined) return value ?? {}
  const line = text.slice(0, fault.offset).split("\n").length
  return yield* new ConfigNotChanged({
    path,
    message: `${path}:${line} is not valid JSON (${
      printParseErrorCode(fault.error)
    }). Fix it first; nothing was changed.`
  })
})

const within = (value: unknown, keys: ReadonlyArray<string>): unknown =>
  keys.reduce<unknown>(
    (inner, key) =>
      typeof inner === "object" && inner !== null && Object.hasOwn(inner, key) ? Reflect.get(inner, key) : undefined,
    value
  )

/** The value at these keys of a file; undefined if there is none, or no file. */
export const valueIn = Effect.fnUntraced(function*(path: string, keys: ReadonlyArray<string>) {
  return within(yield* parsed(path, yield* read(path)), keys)
})

/** Writes beside the file and renames, so that a reader sees the old text or the new one. A link stays a link. */
const replace = Effect.fnUntraced(function*(path: string, text: string) {
  const fs = yield* FileSystem.FileSystem
  const target = yield* Effect.orElseSucceed(fs.realPath(path), () => path)
  const mode = yield* Effect.orElseSucceed(Effect.map(fs.stat(target), (info) => info.mode & 0o777), () => 0o644)
  const temporary = `${target}.${(yield* Random.nextIntBetween(0, 2 ** 48)).toString(36)}.tmp`
  yield* fs.makeDirectory(dirname(target), { recursive: true }).pipe(
    Effect.zipRight(fs.writeFileString(temporary, text, { flag: "wx", mode })),
    Effect.zipRight(fs.rename(temporary, target)),
    Effect.mapError((error) =>
      new ConfigNotChanged({ path, message: `${path} cannot be written: ${reason(error)}. Nothing was changed.` })
    )
  )
})

const misfit = (path: string, keys: ReadonlyArray<string>) =>
  new ConfigNotChanged({
    path,
    message: `${path} could not be changed: ${keys.join(".")} does not fit into it. Change it by hand.`
  })

/** The text with this value, laid out as the rest of it. Throws where the keys lead through something else than objects. */
const textWith = (before: string, keys: ReadonlyArray<string>, value: unknown): string => {
  const indent = /^[ \t]+(?=\S)/m.exec(before)?.[0] ?? "  "
  const formattingOptions = {
    insertSpaces: !indent.startsWith("\t"),
    tabSize: indent.length,
    eol: before.includes("\r\n") ? "\r\n" : "\n"
  }
  return applyEdits(before, modify(before, [...keys], value, { formattingOptions }))
}

/** Sets the value at these keys of a file, and creates the file where there is none; `undefined` removes the key. */
export const setValue = Effect.fn("EditConfig.setValue")(function*(
  path: string,
  keys: ReadonlyArray<string>,
  value: unknown
) {
  const before = yield* read(path)
  yield* parsed(path, before)
  const text = yield* Effect.mapError(
    Effect.try(() => textWith(before, keys, value)),
    () => misfit(path, keys)
  )
  const now = within(yield* parsed(path, text), keys)
  if (JSON.stringify(now) !== JSON.stringify(value)) return yield* misfit(path, keys)
  yield* replace(path, text.endsWith("\n") ? text : `${text}\n`)
})
