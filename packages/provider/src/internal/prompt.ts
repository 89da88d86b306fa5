/**
 * Converts a request for an API: its messages, its files, and the marks of what servers should keep. Messages that
 * already have the right shape are passed on, not copied.
 */
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3Prompt
} from "@ai-sdk/provider"
import type { FileContent, ModelRequest, PromptMessage, ToolCallContent, ToolSpec } from "@skein/core/Provider"
import { formatRef, type ModelRef } from "@skein/domain/Model"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Option from "effect/Option"
import { fields, parseJson } from "./json.ts"

/** A file's content: text, which every model can read, a URL, or bytes in base64. */
type FileText =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "url"; readonly url: string }
  | { readonly type: "base64"; readonly base64: string }

/** Reads a file. A `data:` URL counts as its content. */
export const readFile = (part: FileContent): FileText => {
  const inline = /^data:[^,]*?(;base64)?,/.exec(part.data)
  const base64 = inline === null
    ? part.data
    : inline[1] === undefined
    ? Encoding.encodeBase64(decodeURIComponent(part.data.slice(inline[0].length)))
    : part.data.slice(inline[0].length)
  if (inline === null && /^https?:\/\//i.test(part.data)) return { type: "url", url: part.data }
  if (/^text\/|[/+]json$/.test(part.mediaType)) {
    const text = Encoding.decodeBase64String(base64)
    if (Either.isRight(text)) return { type: "text", text: `${part.filename ?? "file"}:\n${text.right}` }
  }
  return { type: "base64", base64 }
}

/** The arguments of an earlier call, as an object: servers parse them again and fail on anything else. */
export const argumentsOf = (input: unknown): object => {
  const value = typeof input === "string" ? Option.getOrUndefined(parseJson(input)) : input
  return Array.isArray(value) ? {} : fields(value) ?? {}
}

/** Whether a model is of the family that keeps only what is marked, on any server. */
export const keepsMarked = (modelID: string): boolean => /claude/i.test(modelID)

/** The mark in Chat Completions. */
export const cacheControl = { cache_control: { type: "ephemeral" } } as const

const control = { cacheControl: { type: "ephemeral" } } as const

/** The mark of each package of the AI SDK, which reads its own. */
const point = { anthropic: control, openrouter: control, bedrock: { cachePoint: { type: "default" } } } as const

/** A request may have four points: the tools, the system prompt and two messages. */
const messagePoints = 2

/** The places of the messages to mark: the ends of this request and of the one before. */
export const markedIn = (messages: ReadonlyArray<{ readonly role: LanguageModelV3Message["role"] }>): Set<number> => {
  const asking = messages.flatMap(({ role }, at) => role === "user" || role === "tool" ? [at] : [])
  return new Set([messages.findLastIndex(({ role }) => role === "system"), ...asking.slice(-messagePoints)])
}

/**
 * Marks the ends of what later requests repeat. The tools stand first and are the same for all sessions of an agent. Then
 * comes the system prompt, then the conversation. The server finds an earlier entry only near a point, so the place where
 * the request before ended is marked as well.
 */
export const withCachePoints = (options: LanguageModelV3CallOptions): LanguageModelV3CallOptions => {
  const { prompt, tools = [] } = options
  const marked = markedIn(prompt)
  return {
    ...options,
    prompt: prompt.map((message, at) => marked.has(at) ? { ...message, providerOptions: point } : message),
    ...tools.length === 0 ? {} : {
      tools: tools.map((tool, at) =>
        at === tools.length - 1 && tool.type === "function" ? { ...tool, providerOptions: point } : tool
      )
    }
  }
}

/** How to write prompts for a provider. */
export interface PromptStyle {
  /** Whether to mark tools as not strict: else some providers make every argument required. */
  readonly lenientTools?: boolean
}

/** The call options that depend on the request and the name of the model alone. */
export const toCallOptions = (
  request: ModelRequest,
  model: ModelRef,
  style: PromptStyle
): LanguageModelV3CallOptions => ({
  // The port has the shape of the AI SDK by design, except for `readonly`.
  prompt: request.messages.map((message) => convert(forModel(message, model))) as LanguageModelV3Prompt,
  ...request.tools.length === 0 ? {} : {
    tools: request.tools.map((tool) => toTool(tool, style)),
    toolChoice: { type: request.toolChoice }
  },
  ...request.temperature === undefined ? {} : { temperature: request.temperature },
  ...request.topP === undefined ? {} : { topP: request.topP },
  ...request.maxOutputTokens === undefined ? {} : { maxOutputTokens: request.maxOutputTokens }
})

const toTool = (tool: ToolSpec, style: PromptStyle): LanguageModelV3FunctionTool => ({
  type: "function",
  name: tool.name,
  description: tool.description,
  inputSchema: tool.inputSchema,
  ...style.lenientTools === true ? { strict: false } : {}
})

/** A message without what only another model can read: its reasoning and its signatures. */
const forModel = (message: PromptMessage, model: ModelRef): PromptMessage => {
  if (message.role !== "assistant" || message.model === undefined || formatRef(message.model) === formatRef(model)) {
    return message
  }
  const content = message.content.flatMap((part) => {
    if (part.type === "reasoning") return []
    const { providerOptions, ...plain } = part
    return [providerOptions === undefined ? part : plain]
  })
  return { role: "assistant", content }
}

const convert = (message: PromptMessage): unknown => {
  switch (message.role) {
    case "system":
    case "tool":
      return message
    case "user":
      return message.content.some((part) => part.type === "file")
        ? { role: "user", content: message.content.map((part) => part.type === "file" ? toFile(part) : part) }
        : message
    case "assistant":
      return message.content.some((part) => part.type === "tool-call" && argumentsOf(part.input) !== part.input)
        ? { role: "assistant", content: message.content.map((part) => part.type === "tool-call" ? toCall(part) : part) }
        : message
  }
}

const toCall = (part: ToolCallContent): ToolCallContent => ({ ...part, input: argumentsOf(part.input) })

const toFile = (part: FileContent): unknown => {
  const file = readFile(part)
  switch (file.type) {
    case "text":
      return file
    case "url":
      return { ...part, data: new URL(file.url) }
    case "base64":
      return { ...part, data: file.base64 }
  }
}
