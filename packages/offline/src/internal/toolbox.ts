/** Builds calls to the tools that are offered, and reads a turn: its prompt, its calls, and what the tools said. */
import type { ModelRequest, PromptMessage, ToolSpec } from "@skein/core/Provider"
import { isSecret } from "./language.ts"

/** A call to make. */
export interface PlannedCall {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
}

/** The text and the calls of a step. Without calls, the turn ends. */
export interface Decision {
  readonly text: string
  readonly calls: ReadonlyArray<PlannedCall>
}

/** Drops calls that were already made: a repeated call returns nothing new, and would be a loop. */
export const notMade = (
  planned: ReadonlyArray<PlannedCall>,
  made: ReadonlyArray<PlannedCall>
): ReadonlyArray<PlannedCall> => {
  const keyOf = ({ input, name }: PlannedCall): string => JSON.stringify([name, input])
  const known = new Set(made.map(keyOf))
  return planned.filter((call) => !known.has(keyOf(call)))
}

/** The maximum number of lines from grep. */
const mostLines = 1_900

/** One call, or none if the tool is not offered. */
type Calls = ReadonlyArray<PlannedCall>

/** The tools of a request. */
export interface Toolbox {
  /** The working directory, as results may name it. */
  readonly directory: string
  readonly glob: (pattern: string, path?: string) => Calls
  readonly list: (path?: string) => Calls
  readonly grep: (pattern: string, where?: { readonly path?: string; readonly include?: string }) => Calls
  /** Counts the matching lines of each file; no call if the offered grep cannot count. */
  readonly count: (pattern: string, where?: { readonly path?: string; readonly include?: string }) => Calls
  /** No call for a file that may hold secrets. */
  readonly read: (path: string, limit?: number) => Calls
  readonly task: (description: string, prompt: string) => Calls
  /** The wildcard of file names in the arguments of a grep. */
  readonly includeOf: (input: Readonly<Record<string, unknown>>) => string | undefined
  readonly offers: (name: string) => boolean
}

/** Keeps tools from expanding a leading `~` in a file name. */
const unexpanded = (path: string): string => path.startsWith("~") ? `./${path}` : path

const parametersOf = (tool: ToolSpec): ReadonlyArray<string> => {
  const properties = tool.inputSchema["properties"]
  return typeof properties === "object" && properties !== null ? Object.keys(properties) : []
}

/** The agent to delegate to: `explore`, else `general`, else the first one offered. */
const surveyor = (task: ToolSpec): string | undefined => {
  const names = [...task.description.matchAll(/^- ([^\s:]+):/gm)].map((match) => match[1] ?? "")
  return ["explore", "general"].find((name) => names.includes(name)) ?? names[0]
}

/** Reads the tools of a request. */
export const toolboxOf = (request: ModelRequest): Toolbox => {
  const tools = new Map((request.toolChoice === "none" ? [] : request.tools).map((tool) => [tool.name, tool]))
  const call = (name: string, input: Record<string, unknown>): Calls => (tools.has(name) ? [{ name, input }] : [])
  const takes = (name: string, parameter: string): boolean => {
    const tool = tools.get(name)
    return tool !== undefined && parametersOf(tool).includes(parameter)
  }
  const include = takes("grep", "include") ? "include" : "glob"
  const file = takes("read", "path") ? "path" : "filePath"
  const where = (at: { readonly path?: string; readonly include?: string } | undefined): Record<string, unknown> => ({
    ...(at?.path === undefined || at.path === "" ? {} : { path: unexpanded(at.path) }),
    ...(at?.include === undefined ? {} : { [include]: at.include })
  })
  // The survey counts, so it needs everything that a call can return.
  const all = takes("grep", "limit") ? { limit: mostLines } : {}
  const task = tools.get("task")
  const agent = task === undefined ? undefined : surveyor(task)
  return {
    directory: request.origin.directory,
    glob: (pattern, path) => call("glob", { pattern, ...where(path === undefined ? {} : { path }) }),
    list: (path) => call("list", where(path === undefined ? {} : { path })),
    grep: (pattern, at) => call("grep", { pattern, ...where(at), ...all }),
    count: (
      pattern,
      at
    ) => (takes("grep", "mode") ? call("grep", { pattern, ...where(at), mode: "count", ...all }) : []),
    read: (path, limit) =>
      isSecret(path) ? [] : call("read", { [file]: unexpanded(path), ...(limit === undefined ? {} : { limit }) }),
    task: (description, prompt) =>
      agent === undefined ? [] : call("task", { description, prompt, subagent_type: agent }),
    includeOf: (input) => {
      const value = input[include]
      return typeof value === "string" ? value : undefined
    },
    offers: (name) => tools.has(name) && (name !== "task" || agent !== undefined)
  }
}

/** A call in this turn, with its result if there is one. */
export interface Call {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  readonly output: { readonly failed: boolean; readonly text: string } | undefined
}

/** Everything since the last answer. */
export interface Turn {
  /** The prompt. */
  readonly prompt: string
  /** Messages that arrived during the turn. */
  readonly later: ReadonlyArray<string>
  /** The calls of each step, in order. */
  readonly rounds: ReadonlyArray<ReadonlyArray<Call>>
  /** The number of calls in the whole conversation. */
  readonly callCount: number
}

const textOf = (message: Extract<PromptMessage, { role: "user" }>): string =>
  message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n").trim()

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const callsOf = (message: Extract<PromptMessage, { role: "assistant" }>) =>
  message.content.flatMap((part) => (part.type === "tool-call" ? [part] : []))

/** Reads the current turn, which begins after the last assistant message without calls. */
export const readTurn = (messages: ReadonlyArray<PromptMessage>): Turn => {
  const answered = messages.findLastIndex((message) => message.role === "assistant" && callsOf(message).length === 0)
  const turn = messages.slice(answered + 1)
  const begin = turn.findIndex((message) => message.role === "assistant")
  const asked = (begin < 0 ? turn : turn.slice(0, begin)).flatMap((
    message
  ) => (message.role === "user" ? [textOf(message)] : []))
  const later = begin < 0
    ? []
    : turn.slice(begin).flatMap((message) => (message.role === "user" ? [textOf(message)] : []))
  const rounds = turn.flatMap((message, at) => {
    if (message.role !== "assistant") return []
    // Results follow their calls. Ids are unique only within a message.
    const next = turn.findIndex((candidate, index) => index > at && candidate.role === "assistant")
    const results = turn.slice(at + 1, next < 0 ? undefined : next)
      .flatMap((candidate) => (candidate.role === "tool" ? candidate.content : []))
    return [
      callsOf(message).map((call): Call => {
        const output = results.find((result) => result.toolCallId === call.toolCallId)?.output
        return {
          name: call.toolName,
          input: isRecord(call.input) ? call.input : {},
          output: output === undefined ? undefined : { failed: output.type === "error-text", text: output.value }
        }
      })
    ]
  })
  return {
    prompt: asked.join("\n\n").trim(),
    later: later.filter((text) => text !== ""),
    rounds,
    callCount: messages.reduce((sum, message) => sum + (message.role === "assistant" ? callsOf(message).length : 0), 0)
  }
}

/** A line of a file. */
export interface SourceLine {
  readonly path: string
  readonly line: number
  readonly text: string
}

/** A place with a statement about it. */
export interface Fact extends SourceLine {}

const note = /^\s*(\[.*\]|\(.*\))\s*$/
const cutNote = /\b(cut|truncated|more|limit|only|first|omitted|narrow)/i

/** The notes at the end of an output, in brackets. */
const notesOf = (output: string): ReadonlyArray<string> => {
  const last = output.slice(-1_000).trimEnd().split("\n").slice(-4)
  return last.slice(last.findLastIndex((line) => !note.test(line)) + 1)
}

/** The notes at the end of an output about what could not be read. */
export const unreadable = (output: string): ReadonlyArray<string> =>
  notesOf(output).filter((line) => /not everything could be read|could not be read/i.test(line)).map((line) =>
    line.trim().slice(1, -1)
  )

/** Whether a note at the end of an output says that it is truncated. */
export const isCut = (output: string): boolean => notesOf(output).some((line) => cutNote.test(line))

/** A path as the survey writes it: relative to the working directory, with `/`. */
const relative = (path: string, directory: string): string => {
  const plain = path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : path
  return plain.startsWith("./") ? plain.slice(2) : plain
}

const looksLikeProse = (line: string): boolean => /^(no (files|matches)\b|nothing fits |found \d+)/i.test(line)

/** The paths in the output of glob. */
export const readPaths = (output: string, directory: string): ReadonlyArray<string> =>
  output.split("\n").flatMap((line) => {
    const path = line.trimEnd()
    return path === "" || note.test(path) || looksLikeProse(path) ? [] : [relative(path, directory)]
  })

/** What list shows. */
interface Tree {
  readonly files: ReadonlyArray<string>
  readonly folders: ReadonlyArray<string>
  /** Folders that hold files and were not opened. */
  readonly closed: ReadonlyArray<string>
}

/** Reads the output of list: an indented tree with `/` after folders and perhaps their numbers of files, or flat paths. */
export const readTree = (output: string, directory: string): Tree => {
  const files: Array<string> = []
  const folders: Array<string> = []
  const open: Array<{ readonly indent: number; readonly path: string }> = []
  const heading = /^(.*[^/]) \(\d+ files?\)$/.exec(output.split("\n", 1)[0] ?? "")?.[1]
  const top = heading === undefined || heading === directory || heading === "."
    ? ""
    : `${relative(heading, directory)}/`
  for (const raw of output.split("\n").slice(heading === undefined ? 0 : 1)) {
    const line = raw.trimEnd().replace(/\/ \(\d+ files?\)$/, "/")
    if (line === "" || note.test(line) || looksLikeProse(line) || line.trimStart().startsWith("…")) continue
    const name = line.replace(/^[\s│├└─]*(- )?/, "")
    const indent = line.length - name.length
    while ((open.at(-1)?.indent ?? -1) >= indent) open.pop()
    const isTop = indent === 0 && (name.startsWith("/") || name === "./")
    const path = isTop ? top : `${open.at(-1)?.path ?? top}${relative(name, directory)}`
    if (!name.endsWith("/")) files.push(path)
    else {
      open.push({ indent, path })
      if (path !== "") folders.push(path.slice(0, -1))
    }
  }
  const closed = folders.filter((folder) => ![...files, ...folders].some((path) => path.startsWith(`${folder}/`)))
  return { files, folders, closed }
}

/** The counts in the output of grep in mode `count`. */
export const readCounts = (output: string, directory: string): ReadonlyArray<readonly [path: string, count: number]> =>
  output.split("\n").flatMap((line) => {
    const match = /^(.+):\s*(\d+)\s*$/.exec(line)
    return match === null ? [] : [[relative(match[1] ?? "", directory), Number(match[2])] as const]
  })

/** The first split of `path:line:text` that gives a known file: a path may itself hold `:12:`. */
const splitMatch = (raw: string, directory: string, known: (path: string) => boolean): SourceLine | undefined => {
  const number = /:(\d+):/g
  let first: SourceLine | undefined
  for (let match = number.exec(raw); match !== null; match = number.exec(raw)) {
    const text = raw.slice(number.lastIndex)
    const split = {
      path: relative(raw.slice(0, match.index), directory),
      line: Number(match[1]),
      text: text.startsWith(" ") ? text.slice(1) : text
    }
    if (known(split.path)) return split
    first ??= split
    // The colon that ends one split may begin the next.
    number.lastIndex--
  }
  return first
}

/** The lines in the output of grep: `path:line: text`, or a path with `line: text` below it. */
export const readMatches = (
  output: string,
  directory: string,
  known: (path: string) => boolean
): ReadonlyArray<SourceLine> => {
  const found: Array<SourceLine> = []
  let heading = ""
  for (const raw of output.split("\n")) {
    if (raw.trim() === "" || note.test(raw)) continue
    const below = heading === "" ? null : /^\s*(?:Line )?(\d+)[:\t] ?(.*)$/.exec(raw)
    if (below !== null) {
      found.push({ path: heading, line: Number(below[1]), text: below[2] ?? "" })
      continue
    }
    const path = raw.endsWith(":") ? relative(raw.slice(0, -1), directory) : relative(raw, directory)
    heading = known(path) ? path : ""
    const split = heading === "" ? splitMatch(raw, directory, known) : undefined
    if (split !== undefined) found.push(split)
  }
  return found
}

/** The lines in the output of read, and how many the file has where the output tells. */
export const readNumbered = (
  output: string,
  path: string
): { readonly lines: ReadonlyArray<SourceLine>; readonly total: number | undefined } => {
  const lines = output.split("\n").flatMap((raw): ReadonlyArray<SourceLine> => {
    const match = /^\s*(\d+)(?:\t|\| |→|: )(.*)$/.exec(raw)
    return match === null ? [] : [{ path, line: Number(match[1]), text: match[2] ?? "" }]
  })
  const count = notesOf(output).map((line) => /\b(?:of|total:?) (\d+)|\b(\d+) lines in all/i.exec(line)).find((match) =>
    match !== null
  )
  return { lines, total: count === undefined ? undefined : Number(count[1] ?? count[2]) }
}
