/**
 * Encodes what a session reports about itself, the same way for every client: calls, and the changes of files that they
 * make.
 */
import type {
  Diff,
  SessionUpdate,
  ToolCallContent,
  ToolCallLocation,
  ToolCallStatus,
  ToolKind
} from "@agentclientprotocol/sdk/unstable"
import type { PermissionRequest } from "@skein/domain/Event"
import { lookup } from "@skein/domain/Lookup"
import type { ToolPart, ToolState } from "@skein/domain/Part"
import type { Todo } from "@skein/domain/SessionInfo"
import type { Tokens } from "@skein/domain/Usage"
import { heldText } from "@skein/view/AgentNode"
import { diffLines } from "@skein/view/DiffLines"
import { visible, visibleLine } from "@skein/view/Visible"
import { isAbsolute, resolve } from "node:path"
import type { AskedOf, Change } from "../../Projection.ts"

const absolute = (directory: string, path: string): string => isAbsolute(path) ? path : resolve(directory, path)

/** The places that a diff changes, each file with the lines before and after. */
const filesOf = (diff: string, path: string | undefined, directory: string): Array<Diff> => {
  const files: Array<{ path: string; before: Array<string>; after: Array<string> }> = []
  if (path !== undefined) files.push({ path: absolute(directory, path), before: [], after: [] })
  for (const { kind, text } of diffLines(diff)) {
    if (kind === "file") files.push({ path: absolute(directory, text), before: [], after: [] })
    const file = files.at(-1)
    if (file === undefined || kind === "file" || kind === "gap") continue
    if (kind !== "added") file.before.push(text)
    if (kind !== "removed") file.after.push(text)
  }
  return files.filter(({ after, before }) => after.length + before.length > 0).map(({ after, before, path: name }) => ({
    path: name,
    oldText: before.length === 0 ? null : before.join("\n"),
    newText: after.join("\n")
  }))
}

const textIn = (value: unknown, key: string): string | undefined => {
  const found: unknown = typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined
  return typeof found === "string" ? found : undefined
}

/** What an edit that has not been made yet would change. */
const wanted = (tool: string, input: unknown, directory: string): Array<Diff> => {
  const path = textIn(input, "filePath")
  const newText = textIn(input, tool === "edit" ? "newString" : "content")
  if (path === undefined || newText === undefined) return []
  return [{
    path: absolute(directory, path),
    oldText: tool === "edit" ? textIn(input, "oldString") ?? null : null,
    newText
  }]
}

/** The changes in a request for permission, which shows them as lines. */
export const diffInRequest = (
  metadata: Readonly<Record<string, unknown>>,
  directory: string
): Array<ToolCallContent> => {
  const diff = textIn(metadata, "diff")
  return diff === undefined
    ? []
    : filesOf(diff, textIn(metadata, "filePath"), directory).map((each) => ({ type: "diff", ...each }))
}

/** The changes of a call; none where it changes nothing. */
const diffOf = (tool: string, state: ToolState, directory: string): Array<ToolCallContent> => {
  if (tool !== "edit" && tool !== "write" && tool !== "patch") return []
  if (state.status === "pending" || state.status === "error") return []
  const diff = state.status === "completed" ? textIn(state.metadata, "diff") : undefined
  const isCut = diff?.endsWith("… (more is not shown)") === true
  const files = diff === undefined || isCut
    ? tool === "patch" ? [] : wanted(tool, state.input, directory)
    : filesOf(diff, textIn(state.metadata, "filePath"), directory)
  return files.map((each) => ({ type: "diff", ...each }))
}

/** What both a new call and a change of one say. */
interface CallFields {
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

const wordsIn = (value: unknown, key: string): string | undefined => textIn(value, key) || undefined

const inputOf = (state: ToolState): unknown => state.status === "pending" ? undefined : state.input

/** What a call is about, in a few words. */
const subjectOfState = (state: ToolState): string => {
  const given = state.status === "running" || state.status === "completed" ? state.title : undefined
  if (given !== undefined && given !== "") return given
  const input = inputOf(state)
  const keys = ["filePath", "command", "pattern", "path", "url", "description", "name"]
  return keys.map((key) => wordsIn(input, key)).find((found) => found !== undefined) ?? ""
}

/** The title of a call, in one line that hides nothing. */
export const titleOf = (tool: string, state: ToolState): string => {
  const title = visibleLine(`${tool} ${subjectOfState(state)}`.trim())
  return title.length > longestTitle ? `${title.slice(0, longestTitle)}…` : title
}

const locationsOf = (tool: string, state: ToolState, directory: string): Array<ToolCallLocation> => {
  const path = wordsIn(inputOf(state), "filePath") ?? (tool === "list" ? wordsIn(inputOf(state), "path") : undefined)
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
  return state.status === "running" && tool === "bash" ? wordsIn(state.metadata, "output") : undefined
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

/** An update, and the session that it belongs to. */
export interface Update {
  readonly sessionId: string
  readonly update: SessionUpdate
}

/** Turns changes into updates; it knows what the client got before. */
export interface Encoder {
  /** Whether each subagent is a session of its own for the client. */
  readonly isNested: boolean
  readonly encode: (change: Change) => ReadonlyArray<Update>
  /** What a question is asked about: the session that it is shown in. */
  readonly sessionOf: (session: string) => string
}

/** What a request is about: the command, the file, the address. */
export const subjectOf = ({ metadata, patterns }: PermissionRequest): string => {
  const command: unknown = metadata["command"]
  return typeof command === "string" && command !== "" ? command : patterns.join(", ")
}

/** The words of a question of an agent, with the agents that lead to one below the root. */
export const questionText = ({ path, question }: Extract<AskedOf, { readonly kind: "question" }>["request"]): string =>
  visible(path.length > 1 ? `${path.join(" › ")}: ${question}` : question)

/** The line. Nothing of it is cut: it is what a person decides on. */
export const askTitle = (ask: AskedOf): string =>
  visibleLine(
    ask.kind === "question"
      ? questionText(ask.request)
      : `${ask.request.path.join(" › ")}: ${ask.request.permission} ${subjectOf(ask.request)}`
  )

/** What encoding needs to know besides the changes. */
export interface Facts {
  /** The working directory of the tree, absolute. */
  readonly directory: string
  /** The size of a model's context in tokens; undefined if it is not known. */
  readonly contextOf: (model: string) => number | undefined
  /** Whether the client gets the progress of compactions. */
  readonly compaction: boolean
}

const planStatus = { pending: "pending", in_progress: "in_progress", completed: "completed" } as const

const planOf = (todos: ReadonlyArray<Todo>): SessionUpdate => ({
  sessionUpdate: "plan",
  entries: todos.flatMap(({ content, priority, status }) =>
    status === "cancelled" ? [] : [{ content, priority, status: planStatus[status] }]
  )
})

const contextUsed = ({ input, output }: Tokens): number => input + output

const usageOf = (change: Extract<Change, { readonly type: "usage" }>, facts: Facts): ReadonlyArray<SessionUpdate> => {
  const size = facts.contextOf(change.model)
  if (size === undefined) return []
  const amount = Number.parseFloat(change.cost)
  return [{
    sessionUpdate: "usage_update",
    used: contextUsed(change.tokens),
    size,
    ...(Number.isNaN(amount) ? {} : { cost: { amount, currency: "USD" } })
  }]
}

const chunks = { agent: "agent_message_chunk", reasoning: "agent_thought_chunk", person: "user_message_chunk" } as const

const dataUrl = /^data:([^;,]+);base64,(.*)$/s

const fileChunk = ({ file, message }: Extract<Change, { readonly type: "file" }>): SessionUpdate => {
  const [, mimeType, data] = dataUrl.exec(file.url) ?? []
  const isImage = mimeType?.startsWith("image/") === true && data !== undefined
  return {
    sessionUpdate: "user_message_chunk",
    messageId: message,
    content: isImage
      ? { type: "image", mimeType, data }
      : { type: "text", text: `[${file.filename ?? file.mime}]` }
  }
}

/** What a session reports about itself; nothing for changes that are about others. */
export const ownUpdates = (change: Change, facts: Facts): ReadonlyArray<SessionUpdate> => {
  switch (change.type) {
    case "text":
      return change.by === "caller" ? [] : [{
        sessionUpdate: chunks[change.by],
        messageId: change.message,
        content: { type: "text", text: change.text }
      }]
    case "file":
      return [fileChunk(change)]
    case "call": {
      const fields = callFields(change.call, facts.directory)
      const told = change.child === undefined ? fields : { ...fields, _meta: { "skein/sessionId": change.child } }
      return [change.isNew ? { sessionUpdate: "tool_call", ...told } : { sessionUpdate: "tool_call_update", ...told }]
    }
    case "todos":
      return [planOf(change.todos)]
    case "title":
      return [{
        sessionUpdate: "session_info_update",
        title: change.title,
        updatedAt: new Date(change.updated).toISOString()
      }]
    case "usage":
      return usageOf(change, facts)
    case "held":
      return [{
        sessionUpdate: "agent_thought_chunk",
        content: { type: "text", text: `The session ${heldText(change.status)}.\n` }
      }]
    case "compacted":
      return facts.compaction
        ? [{ sessionUpdate: "compaction_update", compactionId: change.message, status: "completed" }]
        : []
    default:
      return []
  }
}
