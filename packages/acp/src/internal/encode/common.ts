/** Encodes what a session reports about itself, the same way for every client. */
import type { SessionUpdate } from "@agentclientprotocol/sdk/unstable"
import type { PermissionRequest } from "@skein/domain/Event"
import type { Todo } from "@skein/domain/SessionInfo"
import type { Tokens } from "@skein/domain/Usage"
import { heldText } from "@skein/view/Held"
import { visible, visibleLine } from "@skein/view/Visible"
import type { AskedOf, Change } from "../../Change.ts"
import { callFields } from "./callUpdate.ts"

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
