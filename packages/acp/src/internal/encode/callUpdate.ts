/** Tells a tool call in the protocol's terms: its kind, title, places, and what it shows. */
import type { ToolCallContent, ToolCallLocation, ToolCallStatus, ToolKind } from "@agentclientprotocol/sdk/unstable"
import { lookup } from "@skein/domain/Lookup"
import type { ToolPart, ToolState } from "@skein/domain/Part"
import { visible, visibleLine } from "@skein/view/Visible"
import { isAbsolute, resolve } from "node:path"
import { diffOf } from "./diffOf.ts"

/** What both a new call and a change of one say. */
export interface CallFields {
  readonly toolCallId: string
  readonly title: string
  readonly name: string
  readonly kind: ToolKind
  readonly status: ToolCallStatus
  content?: Array<ToolCallContent>
  locations?: Array<ToolCallLocation>
  rawInput?: unknown
}

/** The longest title, in characters. */
const longestTitle = 200

const kinds = lookup<ToolKind>({
  read: "read",
  list: "search",
  glob: "search",
  grep: "search",
  edit: "edit",
  write: "edit",
  patch: "edit",
  bash: "execute",
  webfetch: "fetch",
  task: "think",
  todowrite: "think",
  todoread: "think",
  skill: "read"
})

/** The kind of a tool. */
export const kindOf = (tool: string): ToolKind => kinds[tool] ?? "other"

const statuses = { pending: "pending", running: "in_progress", completed: "completed", error: "failed" } as const

const textIn = (value: unknown, key: string): string | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  const found: unknown = Reflect.get(value, key)
  return typeof found === "string" && found !== "" ? found : undefined
}

const inputOf = (state: ToolState): unknown => state.status === "pending" ? undefined : state.input

/** What a call is about, in a few words. */
const subjectOf = (state: ToolState): string => {
  const given = state.status === "running" || state.status === "completed" ? state.title : undefined
  if (given !== undefined && given !== "") return given
  const input = inputOf(state)
  const keys = ["filePath", "command", "pattern", "path", "url", "description", "name"]
  return keys.map((key) => textIn(input, key)).find((found) => found !== undefined) ?? ""
}

/** The title of a call, in one line that hides nothing. */
export const titleOf = (tool: string, state: ToolState): string => {
  const title = visibleLine(`${tool} ${subjectOf(state)}`.trim())
  return title.length > longestTitle ? `${title.slice(0, longestTitle)}…` : title
}

const locationsOf = (tool: string, state: ToolState, directory: string): Array<ToolCallLocation> => {
  const path = textIn(inputOf(state), "filePath") ?? (tool === "list" ? textIn(inputOf(state), "path") : undefined)
  if (path === undefined) return []
  const line: unknown = tool === "read" ? Reflect.get(Object(inputOf(state)), "offset") : undefined
  return [{
    path: isAbsolute(path) ? path : resolve(directory, path),
    ...(typeof line === "number" && Number.isInteger(line) && line > 0 ? { line } : {})
  }]
}

/** A text as a block of code that nothing in it ends. */
export const fenced = (text: string, language = ""): string => {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = "`".repeat(longest + 1)
  return `${fence}${language}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`
}

/** A text as content of a call. */
export const textContent = (text: string): ToolCallContent => ({ type: "content", content: { type: "text", text } })

const shownText = (tool: string, state: ToolState): string | undefined => {
  if (state.status === "error") return state.error.message
  if (state.status === "completed") return state.output
  return state.status === "running" && tool === "bash" ? textIn(state.metadata, "output") : undefined
}

/** What a call shows: the change that it makes, else its result. */
const contentOf = ({ state, tool }: ToolPart, directory: string): Array<ToolCallContent> => {
  const changes = diffOf(tool, state, directory)
  const text = changes.length > 0 && state.status !== "error" ? undefined : shownText(tool, state)
  if (text === undefined || text.trim() === "") return changes
  const isProse = tool === "task" || tool === "question" || state.status === "error"
  return [...changes, textContent(isProse ? visible(text) : fenced(visible(text), tool === "bash" ? "console" : ""))]
}

/** The present state of a call. */
export const callFields = (call: ToolPart, directory: string): CallFields => {
  const { id, state, tool } = call
  const content = contentOf(call, directory)
  const locations = locationsOf(tool, state, directory)
  const input = inputOf(state)
  return {
    toolCallId: id,
    title: titleOf(tool, state),
    name: tool,
    kind: kindOf(tool),
    status: statuses[state.status],
    ...(content.length === 0 ? {} : { content }),
    ...(locations.length === 0 ? {} : { locations }),
    ...(input === undefined ? {} : { rawInput: input })
  }
}
