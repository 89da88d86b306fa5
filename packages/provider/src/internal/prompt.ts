/** Converts a request for the AI SDK. Messages that already have the right shape are passed on, not copied. */
import type { LanguageModelV3CallOptions, LanguageModelV3FunctionTool, LanguageModelV3Prompt } from "@ai-sdk/provider"
import type { FileContent, ModelRequest, PromptMessage, ToolCallContent, ToolSpec } from "@skein/core/Provider"
import { formatRef, type ModelRef } from "@skein/domain/Model"
import { argumentsOf, readFile } from "./content.ts"

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
