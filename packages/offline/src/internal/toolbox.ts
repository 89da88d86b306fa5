/** Reads a request: its tools, its turn so far, and what the tools said. */
import type { ModelRequest, PromptMessage, ToolSpec } from "@skein/core/Provider"
import { type Family, familyOf, includeOf, isSecret, type Place } from "./project.ts"

/** A call to make. */
export interface PlannedCall {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
}

/** A call with its result, if there is one. */
export interface Call extends PlannedCall {
  readonly output: { readonly failed: boolean; readonly text: string } | undefined
}

/** The text and the calls of a step. Without calls, the turn ends. */
export interface Decision {
  readonly text: string
  readonly calls: ReadonlyArray<PlannedCall>
}

/** The tools of a request. If a tool is not offered, there is no call to it. */
export interface Toolbox {
  readonly offers: (...names: ReadonlyArray<string>) => boolean
  readonly glob: (pattern: string, folder?: string) => ReadonlyArray<PlannedCall>
  readonly list: (folder: string) => ReadonlyArray<PlannedCall>
  /** Searches a place; with `count`, it only counts the matching lines of each file. */
  readonly grep: (
    pattern: string,
    place: Place,
    how?: { readonly family?: Family | undefined; readonly count?: boolean }
  ) => ReadonlyArray<PlannedCall>
  /** No call for a file that may hold secrets. */
  readonly read: (path: string, limit?: number) => ReadonlyArray<PlannedCall>
  readonly task: (description: string, prompt: string) => ReadonlyArray<PlannedCall>
}

/** The most lines of a grep: the survey counts, so it needs all that a call can return. */
const mostLines = 1_900

/** Keeps tools from expanding a leading `~` in a file name. */
const unexpanded = (path: string): string => path.startsWith("~") ? `./${path}` : path

const within = (folder: string) => (folder === "" ? {} : { path: unexpanded(folder) })

/** A wildcard for these names: special characters become `?`. */
const anyOf = (names: ReadonlyArray<string>): string => {
  const plain = names.map((name) => name.replace(/[[\]{}*?,!\\]/g, "?"))
  return plain.length === 1 ? plain.join() : `{${plain.join()}}`
}

/** Which files of a place a grep takes: undefined for all, empty for none. */
const globOf = ({ folders, names }: Place, family: Family | undefined): string | undefined => {
  const include = family === undefined ? undefined : includeOf(family)
  if (folders !== undefined) return `./${anyOf(folders)}/**${include === undefined ? "" : `/${include}`}`
  if (names === undefined) return include
  const own = family === undefined ? names : names.filter((name) => familyOf(name) === family)
  return own.length === 0 ? "" : anyOf(own)
}

/** The agent to delegate to: `explore`, else `general`, else the first one offered. */
const surveyor = (task: ToolSpec): string | undefined => {
  const names = [...task.description.matchAll(/^- ([^\s:]+):/gm)].map((match) => match[1] ?? "")
  return ["explore", "general"].find((name) => names.includes(name)) ?? names[0]
}

/** Reads the tools of a request. */
export const toolboxOf = (request: ModelRequest): Toolbox => {
  const tools = new Map((request.toolChoice === "none" ? [] : request.tools).map((tool) => [tool.name, tool]))
  const task = tools.get("task")
  const agent = task === undefined ? undefined : surveyor(task)
  if (agent === undefined) tools.delete("task")
  const call = (name: string, input: PlannedCall["input"]) => (tools.has(name) ? [{ name, input }] : [])
  return {
    offers: (...names) => names.every((name) => tools.has(name)),
    glob: (pattern, folder = "") => call("glob", { pattern, ...within(folder) }),
    list: (folder) => call("list", within(folder)),
    grep: (pattern, place, { count = false, family } = {}) => {
      const glob = globOf(place, family)
      return glob === "" ? [] : call("grep", {
        pattern,
        ...within(place.path),
        ...(glob === undefined ? {} : { glob }),
        ...(count ? { mode: "count" } : {}),
        limit: mostLines
      })
    },
    read: (path, limit) =>
      isSecret(path) ? [] : call("read", { filePath: unexpanded(path), ...(limit === undefined ? {} : { limit }) }),
    task: (description, prompt) => call("task", { description, prompt, subagent_type: agent })
  }
}

/** Everything since the last answer. */
export interface Turn {
  readonly prompt: string
  /** Messages that arrived during the turn. */
  readonly later: ReadonlyArray<string>
  /** The calls of the turn, in order. */
  readonly calls: ReadonlyArray<Call>
  /** The number of calls in the whole conversation. */
  readonly callCount: number
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const textsOf = (messages: ReadonlyArray<PromptMessage>): ReadonlyArray<string> =>
  messages.flatMap((message) =>
    message.role === "user"
      ? [message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n").trim()]
      : []
  )

const callsOf = (message: PromptMessage) =>
  message.role === "assistant" ? message.content.flatMap((part) => (part.type === "tool-call" ? [part] : [])) : []

/** Reads the current turn, which begins after the last assistant message without calls. */
export const readTurn = (messages: ReadonlyArray<PromptMessage>): Turn => {
  const answered = messages.findLastIndex((message) => message.role === "assistant" && callsOf(message).length === 0)
  const turn = messages.slice(answered + 1)
  const begin = turn.findIndex((message) => message.role === "assistant")
  const asked = begin < 0 ? turn : turn.slice(0, begin)
  const calls = turn.flatMap((message, at) => {
    // Results follow their calls. Ids are unique only within a message.
    const next = turn.findIndex((candidate, index) => index > at && candidate.role === "assistant")
    const results = turn.slice(at + 1, next < 0 ? undefined : next)
      .flatMap((candidate) => (candidate.role === "tool" ? candidate.content : []))
    return callsOf(message).map((call): Call => {
      const output = results.find((result) => result.toolCallId === call.toolCallId)?.output
      return {
        name: call.toolName,
        input: isRecord(call.input) ? call.input : {},
        output: output === undefined ? undefined : { failed: output.type === "error-text", text: output.value }
      }
    })
  })
  return {
    prompt: textsOf(asked).join("\n\n").trim(),
    later: textsOf(turn.slice(asked.length)).filter((text) => text !== ""),
    calls,
    callCount: messages.reduce((sum, message) => sum + callsOf(message).length, 0)
  }
}

/** A text argument of a call; empty if it has none. */
export const inputOf = (call: PlannedCall, name: string): string => {
  const value = call.input[name]
  return typeof value === "string" ? value : ""
}

/** A line of a file, or a statement about one. */
export interface Fact {
  readonly path: string
  readonly line: number
  readonly text: string
}

const note = /^\((.*)\)$/

/** The notes at the end of an output, in brackets. */
const notesOf = (output: string): ReadonlyArray<string> => {
  const last = output.slice(-1_000).trimEnd().split("\n").slice(-4)
  return last.slice(last.findLastIndex((line) => !note.test(line)) + 1).map((line) => note.exec(line)?.[1] ?? "")
}

/** What the tools could not read, by their own notes. */
export const unreadable = (output: string): ReadonlyArray<string> =>
  notesOf(output).filter((line) => line.startsWith("Not everything could be read"))

/** Whether a note at the end of an output says that there is more. */
export const isCut = (output: string): boolean =>
  notesOf(output).some((line) => /^The first |^Not all is shown|^Lines 1 to /.test(line))

/** The lines of an output without notes. */
const content = (output: string): ReadonlyArray<string> =>
  output.split("\n").filter((line) => line.trim() !== "" && !note.test(line) && !/^No (files|matches) /.test(line))

/** The paths in the output of glob. */
export const readPaths = content

/** The subfolders in the output of list, an indented tree, as names in the listed folder. */
export const readFolders = (output: string): ReadonlyArray<string> =>
  content(output).flatMap((line) => /^(\S.*)\/(?: \(\d+ files?\))?$/.exec(line)?.[1] ?? [])

/** The counts in the output of grep in mode `count`. */
export const readCounts = (output: string): ReadonlyArray<readonly [path: string, count: number]> =>
  content(output).flatMap((line) => {
    const match = /^(.+):(\d+)$/.exec(line)
    return match === null ? [] : [[match[1] ?? "", Number(match[2])] as const]
  })

/** The lines `path:line:text` in the output of grep. A path may itself hold `:12:`, so the split that gives a file counts. */
export const readMatches = (output: string, isFile: (path: string) => boolean): ReadonlyArray<Fact> =>
  content(output).flatMap((raw) => {
    const splits = [...raw.matchAll(/(?=:(\d+):)/g)].map((match): Fact => {
      const [, line = ""] = match
      return { path: raw.slice(0, match.index), line: Number(line), text: raw.slice(match.index + line.length + 2) }
    })
    return splits.find((split) => isFile(split.path)) ?? splits.slice(0, 1)
  })

/** The lines in the output of read. */
export const readLines = (output: string, path: string): ReadonlyArray<Fact> =>
  output.split("\n").flatMap((raw) => {
    const match = /^\s*(\d+)\t(.*)$/.exec(raw)
    return match === null ? [] : [{ path, line: Number(match[1]), text: match[2] ?? "" }]
  })

/** A path in a call, without what keeps a tool from expanding it. */
export const pathIn = (call: PlannedCall): string =>
  (inputOf(call, "filePath") || inputOf(call, "path")).replace(/^\.\//, "")

/** A text on one line, no longer than `length`. */
export const oneLine = (text: string, length = 140): string => {
  const points = [...text.replace(/\s+/g, " ").trim()]
  return points.length <= length ? points.join("") : `${points.slice(0, length - 1).join("").trimEnd()}…`
}

/** A call as it is told to people. */
export const describe = (call: PlannedCall): string => {
  const path = pathIn(call)
  return `${call.name}${path === "" ? "" : ` of ${path}`}`
}
