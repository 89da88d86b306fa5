/** Turns a request into what the AI SDK takes; what has the right shape already is passed on, not copied. */
import type { LanguageModelV3CallOptions, LanguageModelV3FunctionTool, LanguageModelV3Prompt } from "@ai-sdk/provider"
import type { FileContent, ModelRequest, PromptMessage, ToolCallContent, ToolSpec } from "@skein/core/Provider"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Option from "effect/Option"

/** How a provider wants a prompt. */
export interface PromptStyle {
  /** Makes an identifier of a tool call acceptable, for a provider that is strict about those it did not make. */
  readonly callID?: (id: string) => string
  /** Whether tools are marked as not strict, where a provider would otherwise make every argument required. */
  readonly lenientTools?: boolean
}

/** The part of the call options that the request itself decides. */
export const toCallOptions = (request: ModelRequest, style: PromptStyle): LanguageModelV3CallOptions => ({
  // The ports have the shape of the AI SDK by design; only `readonly` is in the way.
  prompt: request.messages.map((message) => convert(message, style)) as LanguageModelV3Prompt,
  ...request.tools.length === 0 ? {} : {
    tools: request.tools.map((tool) => toTool(tool, style)),
    toolChoice: { type: request.toolChoice }
  },
  ...request.temperature === undefined ? {} : { temperature: request.temperature },
  ...request.topP === undefined ? {} : { topP: request.topP }
})

const toTool = (tool: ToolSpec, style: PromptStyle): LanguageModelV3FunctionTool => ({
  type: "function",
  name: tool.name,
  description: tool.description,
  inputSchema: tool.inputSchema,
  ...style.lenientTools === true ? { strict: false } : {}
})

const convert = (message: PromptMessage, style: PromptStyle): unknown => {
  switch (message.role) {
    case "system":
      return message
    case "user":
      return message.content.some((part) => part.type === "file")
        ? { role: "user", content: message.content.map((part) => part.type === "file" ? toFile(part) : part) }
        : message
    case "assistant":
      return message.content.some((part) => part.type === "tool-call" && !isPlainCall(part, style))
        ? {
          role: "assistant",
          content: message.content.map((part) => part.type === "tool-call" ? toCall(part, style) : part)
        }
        : message
    case "tool": {
      const { callID } = style
      return callID === undefined
        ? message
        : { role: "tool", content: message.content.map((part) => ({ ...part, toolCallId: callID(part.toolCallId) })) }
    }
  }
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value)

const isPlainCall = (part: ToolCallContent, style: PromptStyle): boolean =>
  style.callID === undefined && isObject(part.input)

/** Servers parse the arguments of old calls again, and fail on what is no object. */
const toCall = (part: ToolCallContent, { callID = (id) => id }: PromptStyle): ToolCallContent => {
  const input = typeof part.input === "string" ? Option.getOrUndefined(parse(part.input)) : part.input
  return { ...part, toolCallId: callID(part.toolCallId), input: isObject(input) ? input : {} }
}

const parse = Option.liftThrowable((text: string): unknown => JSON.parse(text))

/** `data:` URLs become base64, other URLs stay, and text files become text, which every model can read. */
const toFile = (part: FileContent): unknown => {
  const inline = /^data:[^,]*?(;base64)?,/.exec(part.data)
  const base64 = inline === null
    ? part.data
    : inline[1] === undefined
    ? Encoding.encodeBase64(decodeURIComponent(part.data.slice(inline[0].length)))
    : part.data.slice(inline[0].length)
  if (inline === null && /^https?:\/\//i.test(part.data)) return { ...part, data: new URL(part.data) }
  if (/^text\/|[/+]json$/.test(part.mediaType)) {
    const text = Encoding.decodeBase64String(base64)
    if (Either.isRight(text)) return { type: "text", text: `${part.filename ?? "file"}:\n${text.right}` }
  }
  return { ...part, data: base64 }
}
