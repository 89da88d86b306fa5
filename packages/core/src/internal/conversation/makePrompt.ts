/** Turns a stored session into a prompt that every provider accepts. */
import type { MessageID } from "@skein/domain/Id"
import type { Part, ToolPart } from "@skein/domain/Part"
import type {
  FileContent,
  PromptMessage,
  ProviderMetadata,
  ReasoningContent,
  TextContent,
  ToolCallContent,
  ToolResultContent
} from "../../Provider.ts"
import type { LiveMessage } from "../live/History.ts"
import { withoutOutputs, withoutReasoning } from "./prune.ts"
import { sentOf } from "./sentMessages.ts"
import { answerIn } from "./structuredOutput.ts"

/** The message for a call whose result is missing. */
export const missingResult =
  "The call was interrupted before it ended. Its outcome is unknown: check what it did before you repeat it."

const fileContent = (
  part: { readonly url: string; readonly mime: string; readonly filename?: string | undefined }
): FileContent => ({
  type: "file",
  data: part.url,
  mediaType: part.mime,
  ...(part.filename === undefined ? {} : { filename: part.filename })
})

/** Whether a text shows nothing: strict providers refuse it, and with it every later request. */
export const isBlank = (text: string): boolean => /^[\s\p{Cc}\p{Cf}]*$/u.test(text)

const userContent = (part: Part): ReadonlyArray<TextContent | FileContent> => {
  switch (part.type) {
    case "text":
      return isBlank(part.text) ? [] : [{ type: "text", text: part.text }]
    case "file":
      return [fileContent(part)]
    case "subtask":
      return [{ type: "text", text: `The user started the subagent ${part.agent}: ${part.description}` }]
    default:
      return []
  }
}

/** A message of blank text alone still asks for an answer. */
const userMessage = ({ parts }: LiveMessage): ReadonlyArray<PromptMessage> => {
  const content = parts.flatMap(userContent)
  if (content.length > 0) return [{ role: "user", content }]
  const isAsked = parts.some(({ type }) => type === "text")
  return isAsked ? [{ role: "user", content: [{ type: "text", text: "(an empty message)" }] }] : []
}

/** Strict providers refuse a blank result as well. */
const shown = (output: string): string => isBlank(output) ? "(no output)" : output

const resultOf = (part: ToolPart): ToolResultContent["output"] => {
  switch (part.state.status) {
    case "completed":
      return { type: "text", value: shown(part.state.output) }
    case "error":
      return { type: "error-text", value: shown(part.state.error.message) }
    default:
      return { type: "error-text", value: missingResult }
  }
}

/** A name that every provider accepts, whatever the model made up. */
const nameOf = (part: ToolPart): string => part.tool.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "unknown"

/** What the provider wants back with a part. */
const wantedBack = (
  { metadata }: { readonly metadata?: Readonly<Record<string, unknown>> | undefined }
): { readonly providerOptions?: ProviderMetadata } =>
  metadata === undefined ? {} : { providerOptions: metadata as ProviderMetadata }

/** The model's own ids may be empty, duplicated, or reused later. */
const idOf = ({ id, sentAs }: ToolPart): string => sentAs ?? id

const callContent = (part: ToolPart): ToolCallContent => ({
  type: "tool-call",
  toolCallId: idOf(part),
  toolName: nameOf(part),
  input: asObject(part.state.input),
  ...wantedBack(part)
})

/** The maximum length of a call's arguments in each request, in characters. */
const longestInput = 1_000_000

/** How much of a longer text is sent. */
const excerpt = 2_000

const cutTo = (text: string): string =>
  `${text.slice(0, excerpt)}… [${text.length - excerpt} more characters are left out]`.toWellFormed()

/** Providers expect an object; if the model wrote something else, it sees that as it was. */
const asObject = (input: unknown): unknown => {
  const text = typeof input === "string" ? input : JSON.stringify(input) ?? ""
  if (text.length > longestInput) return { too_long: cutTo(text) }
  return typeof input === "object" && input !== null && !Array.isArray(input) ? input : { invalid: input }
}

const reasoning = (part: Part): ReadonlyArray<ReasoningContent> =>
  part.type === "reasoning" && part.metadata !== undefined && part.partial !== true
    ? [{ type: "reasoning", text: part.text, ...wantedBack(part) }]
    : []

const assistantMessages = (message: LiveMessage): ReadonlyArray<PromptMessage> => {
  const content: Array<TextContent | ReasoningContent | ToolCallContent> = []
  const results: Array<ToolResultContent> = []
  const attachments: Array<TextContent | FileContent> = []
  const isTooLarge = message.info.role === "assistant" && message.info.error?.tag === "AnswerTooLarge"
  for (const part of message.parts) {
    for (const each of reasoning(part)) content.push(each)
    if (part.type === "text" && !isBlank(part.text)) {
      const isCut = isTooLarge && part.text.length > excerpt
      content.push({ type: "text", text: isCut ? cutTo(part.text) : part.text, ...isCut ? {} : wantedBack(part) })
    }
    if (part.type !== "tool") continue
    content.push(callContent(part))
    results.push({ type: "tool-result", toolCallId: idOf(part), toolName: nameOf(part), output: resultOf(part) })
    const files = part.state.status === "completed" ? part.state.attachments ?? [] : []
    if (files.length > 0) {
      attachments.push({ type: "text", text: `Files from ${part.tool}:` })
      for (const file of files) attachments.push(fileContent(file))
    }
  }
  // Reasoning alone is no answer: a provider would refuse a message that has nothing else.
  if (content.every((each) => each.type === "reasoning")) return []
  return [
    {
      role: "assistant",
      content,
      ...message.info.role === "assistant"
        ? { model: { providerID: message.info.providerID, modelID: message.info.modelID } }
        : {}
    },
    ...(results.length === 0 ? [] : [{ role: "tool" as const, content: results }]),
    ...(attachments.length === 0 ? [] : [{ role: "user" as const, content: attachments }])
  ]
}

/** A message as a model sees it; made once, until one of its parts changes. */
export const promptOf = (message: LiveMessage): ReadonlyArray<PromptMessage> =>
  message.prompt ??= message.info.role === "user" ? userMessage(message) : assistantMessages(message)

/** An answer that was cut off and that another answer replaced, or is about to replace. */
export const isSuperseded = ({ info }: LiveMessage, next: LiveMessage | undefined): boolean =>
  info.role === "assistant" && info.error !== undefined && info.error.tag !== "steps" && next?.info.role !== "user"

/**
 * The prompt. Each call has exactly one result, ids are unique, and consecutive user messages are merged. What does not
 * change from step to step is made once. The runtime adds `closing` at the end. A compacted conversation begins with
 * its summary. Tool outputs before `wholeFrom` and reasoning before `reasonedFrom` are left out.
 */
export const makePrompt = (
  system: string,
  messages: ReadonlyArray<LiveMessage>,
  closing?: string,
  wholeFrom?: MessageID,
  reasonedFrom?: MessageID
): ReadonlyArray<PromptMessage> => {
  const prompt: Array<PromptMessage> = isBlank(system) ? [] : [{ role: "system", content: system }]
  const add = (next: PromptMessage) => {
    const last = prompt.at(-1)
    if (next.role === "user" && last?.role === "user") {
      prompt[prompt.length - 1] = { role: "user", content: [...last.content, ...next.content] }
    } else prompt.push(next)
  }
  const sent = sentOf(messages)
  for (const [i, message] of sent.entries()) {
    if (isSuperseded(message, sent[i + 1])) continue
    const isOld = wholeFrom !== undefined && message.info.id < wholeFrom
    const isRefused = reasonedFrom !== undefined && message.info.id < reasonedFrom
    const made = isOld ? withoutOutputs(promptOf(message)) : promptOf(message)
    for (const each of isRefused ? made.map(withoutReasoning) : made) add(each)
  }
  if (closing !== undefined) add({ role: "user", content: [{ type: "text", text: closing }] })
  return prompt
}

/** The last structured output in a message. */
const formed = (parts: ReadonlyArray<Part>): string | undefined =>
  parts.map(answerIn).findLast((each) => each !== undefined)

const textsOf = (parts: ReadonlyArray<Part>): ReadonlyArray<string> =>
  parts.flatMap((part) => part.type === "text" && part.text.trim() !== "" ? [part.text.trim()] : [])

/**
 * What a subagent's caller reads of a message: its structured output, else its last text, trimmed; empty if it has
 * none.
 */
export const conclusion = (parts: ReadonlyArray<Part>): string => formed(parts) ?? textsOf(parts).at(-1) ?? ""

/** The text of a message: its structured output, else all its texts, trimmed, with a blank line between them. */
export const answerOf = (parts: ReadonlyArray<Part>): string => formed(parts) ?? textsOf(parts).join("\n\n")
