/** Builds calls to the offered tools, to fit their parameters. */
import type { ModelRequest, ToolSpec } from "@skein/core/Provider"
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
const plain = (path: string): string => path.startsWith("~") ? `./${path}` : path

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
    ...(at?.path === undefined || at.path === "" ? {} : { path: plain(at.path) }),
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
      isSecret(path) ? [] : call("read", { [file]: plain(path), ...(limit === undefined ? {} : { limit }) }),
    task: (description, prompt) =>
      agent === undefined ? [] : call("task", { description, prompt, subagent_type: agent }),
    includeOf: (input) => {
      const value = input[include]
      return typeof value === "string" ? value : undefined
    },
    offers: (name) => tools.has(name) && (name !== "task" || agent !== undefined)
  }
}
