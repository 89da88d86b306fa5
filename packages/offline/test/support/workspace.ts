/** A workspace in memory, with tools over it that answer in the layouts of the real ones. */
import type { ToolSpec } from "@skein/core/Provider"
import * as Effect from "effect/Effect"
import { type Input, type Options as LoopOptions, type Output, type Run, runWith, type Tools } from "./loop.ts"

/** Files by path; `undefined` is a file that is not text. */
export type Files = Readonly<Record<string, string | undefined>>

/** How the tools differ from the real ones. */
export interface Options extends LoopOptions {
  /** Lines that a tool shows at most. */
  readonly limit?: number
}

/** A wildcard: without a slash it is about names, `**` crosses folders. */
const wildcard = (pattern: string): (path: string) => boolean => {
  const plain = pattern.replace(/^\.\//, "")
  let source = ""
  for (let i = 0; i < plain.length; i++) {
    const rest = plain.slice(i)
    if (rest.startsWith("**/")) [source, i] = [`${source}(?:.*/)?`, i + 2]
    else if (rest.startsWith("*")) source += "[^/]*"
    else if (rest.startsWith("?")) source += "[^/]"
    else if (rest.startsWith("{")) source += "(?:"
    else if (rest.startsWith("}")) source += ")"
    else if (rest.startsWith(",")) source += "|"
    else source += (rest[0] ?? "").replace(/[.+^$()|[\]\\]/, "\\$&")
  }
  const regex = new RegExp(`^${source}$`, "u")
  return (path) => regex.test(pattern.includes("/") ? path : path.slice(path.lastIndexOf("/") + 1))
}

const parameters: Readonly<Record<string, ReadonlyArray<string>>> = {
  glob: ["pattern", "path"],
  grep: ["pattern", "path", "glob", "mode", "limit"],
  list: ["path"],
  read: ["filePath", "offset", "limit"]
}

const specs: ReadonlyArray<ToolSpec> = Object.entries(parameters).map(([name, keys]) => ({
  name,
  description: `The tool ${name}.`,
  inputSchema: {
    type: "object",
    properties: Object.fromEntries(keys.map((key) => [key, {}]))
  }
}))

const linesOf = (text: string): ReadonlyArray<string> => (text === "" ? [] : text.replace(/\n$/, "").split("\n"))

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const counted = (count: number): string => `${count} ${count === 1 ? "file" : "files"}`

/** The tree below a folder; what is deep is not opened where there is no room for it. */
const drawTree = (files: ReadonlyArray<string>, room: number, indent = ""): ReadonlyArray<string> => {
  const folders = [...new Set(files.flatMap((file) => (file.includes("/") ? [file.slice(0, file.indexOf("/"))] : [])))]
  return [
    ...folders.toSorted().flatMap((folder) => {
      const below = files.filter((file) => file.startsWith(`${folder}/`)).map((file) => file.slice(folder.length + 1))
      const inner = below.length > room ? [] : drawTree(below, room, `${indent}  `)
      return [`${indent}${folder}/ (${counted(below.length)})`, ...inner]
    }),
    ...files.filter((file) => !file.includes("/")).toSorted().map((file) => indent + file)
  ]
}

const grep = (files: Files, paths: ReadonlyArray<string>, options: Options, input: Input): Output => {
  const pattern = textOf(input["pattern"])
  const regex = new RegExp(pattern.replace(/^\(\?i\)/, ""), pattern.startsWith("(?i)") ? "iu" : "u")
  const include = typeof input["glob"] === "string" ? wildcard(input["glob"]) : () => true
  const limit = Math.min(options.limit ?? 1_900, typeof input["limit"] === "number" ? input["limit"] : 250)
  const found = paths.filter(include).toSorted().flatMap((path) => {
    const hits = linesOf(files[path] ?? "").flatMap((line, at) => (regex.test(line) ? [{ line, at: at + 1 }] : []))
    if (hits.length === 0) return []
    if (input["mode"] === "count") return [`${path}:${hits.length}`]
    return hits.map(({ at, line }) => `${path}:${at}:${line}`)
  })
  if (found.length === 0) return `No matches for ${pattern} here.`
  let bytes = 0
  const shown = found.slice(0, limit).filter((line) => (bytes += Buffer.byteLength(line) + 1) < 49 * 1_024)
  return [
    ...shown,
    ...(shown.length < found.length ? ["", `(The first ${shown.length}; there are more: narrow pattern.)`] : [])
  ]
    .join("\n")
}

const call = (files: Files, options: Options, name: string, input: Input): Output => {
  const { path } = input
  const inside = Object.keys(files).filter((file) => typeof path !== "string" || file.startsWith(`${path}/`))
  const relative = (file: string): string => (typeof path === "string" ? file.slice(path.length + 1) : file)
  switch (name) {
    case "glob": {
      const found = inside.filter((file) => wildcard(textOf(input["pattern"]))(relative(file))).toSorted()
      const shown = found.slice(0, options.limit ?? 1_000)
      if (found.length === 0) return `No files fit ${textOf(input["pattern"])} here.`
      const rest = `(The first ${shown.length} of ${found.length} files: narrow the pattern or the path.)`
      return [...shown, ...(shown.length < found.length ? ["", rest] : [])].join("\n")
    }
    case "list":
      return [
        `${typeof path === "string" ? path : "/project"} (${counted(inside.length)})`,
        ...drawTree(inside.map(relative), options.limit ?? 400)
      ].join("\n")
    case "grep":
      return grep(files, inside, options, input)
    case "read": {
      const file = textOf(input["filePath"])
      if (!(file in files)) return { error: `${file} does not exist.` }
      const content = files[file]
      if (content === undefined) return { error: `${file} is not a text file.` }
      const lines = linesOf(content)
      const limit = typeof input["limit"] === "number" ? input["limit"] : 2_000
      const shown = lines.slice(0, limit).map((line, at) => `${String(at + 1).padStart(6)}\t${line}`)
      return [
        ...shown,
        ...(lines.length === 0 ? ["(The file is empty.)"] : []),
        ...(lines.length > limit
          ? ["", `(Lines 1 to ${limit} of ${lines.length}. To read on, give offset ${limit + 1}.)`]
          : [])
      ].join("\n")
    }
    default:
      return { error: `There is no tool ${name}.` }
  }
}

/** Tools over files. */
export const workspace = (files: Files, options: Options = {}): Tools => ({
  specs,
  call: (name, input) => Effect.sync(() => call(files, options, name, input)),
  directory: "/project"
})

/** Runs a prompt to its end over these files. */
export const run = (files: Files, prompt: string, options: Options = {}): Effect.Effect<Run> =>
  runWith(workspace(files, options), prompt, options)
