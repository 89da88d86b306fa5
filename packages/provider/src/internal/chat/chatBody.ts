/** Writes requests for the Chat Completions API. */
import type { FileContent, ModelRequest, PromptMessage, ProviderMetadata, ToolSpec } from "@skein/core/Provider"
import { cacheControl, keepsMarked, markedIn } from "../cachePoints.ts"
import { argumentsOf, readFile } from "../content.ts"
import { Unaskable } from "../errors.ts"
import { fields } from "../json.ts"
import { cleanBody } from "../wellFormed.ts"
import { makeGrowing, separated } from "./growing.ts"

/** How servers with this API differ. */
export interface Dialect {
  /** The fields of a request besides messages and tools. */
  readonly settings: (request: ModelRequest) => Readonly<Record<string, unknown>>
  /** The role of the system prompt; `system` by default. */
  readonly system?: "system" | "developer"
  /** The provider, whose models get their own reasoning back in the field in which it came. */
  readonly reasoning?: string
  /** Whether it refuses an answer with calls that has no `reasoning_content`, even if there was none. */
  readonly needsReasoning?: boolean
  /** Whether models may write their reasoning between `<think>` tags at the start of the text. */
  readonly thinkTags?: boolean
  /** Converts the id of a tool call, for a server that refuses ids it did not make. */
  readonly callID?: (id: string) => string
}

/**
 * Writes the bodies of requests to a model; throws `Unaskable` for what this API cannot express. Tools, and the
 * messages of a growing conversation, are the same objects in each request, so their bytes are cached as long as they
 * exist.
 */
export const makeWriter = (model: string, dialect: Dialect): (request: ModelRequest) => Buffer => {
  const writtenTools = new WeakMap<ToolSpec, Buffer>()
  const toolBytes = (tool: ToolSpec): Buffer => {
    const known = writtenTools.get(tool)
    if (known !== undefined) return known
    const made = toTool(tool)
    writtenTools.set(tool, made)
    return made
  }
  const conversation = makeGrowing((message: PromptMessage) => bytesOf(toMessages(message, model, dialect)))
  return (request) => {
    const { messages, toolChoice, tools } = request
    const rest = { model, stream: true, ...dialect.settings(request) }
    const marked = keepsMarked(model) && request.origin.purpose === "turn" ? markedIn(messages) : new Set<number>()
    // The system prompt differs in each request, and so does what is marked at the end.
    const begin = messages[0]?.role === "system" ? 1 : 0
    const end = messages.findIndex((_, at) => at >= begin && marked.has(at))
    const last = end < 0 ? [] : messages.slice(end).map((message, i) => {
      const wire = toMessages(message, model, dialect)
      return bytesOf(marked.has(end + i) ? withMark(wire) : wire)
    })
    return conversation(messages.slice(begin, end < 0 ? undefined : end), {
      before: Buffer.from(`${cleanBody(JSON.stringify(rest)).slice(0, -1)},"messages":[`),
      first: messages.slice(0, begin).map((message) => {
        const wire = toMessages(message, model, dialect)
        return bytesOf(marked.has(0) ? withMark(wire) : wire)
      }),
      after: [
        ...last.length > 0 && end > 0 ? [Buffer.from(",")] : [],
        ...separated(last),
        ...tools.length === 0
          ? [Buffer.from("]}")]
          : [
            Buffer.from("],\"tools\":["),
            ...separated(tools.map(toolBytes)),
            Buffer.from(`],"tool_choice":"${toolChoice}"}`)
          ]
      ]
    })
  }
}

/** Marks the end of a message for the server's cache: its last text, or its last result. */
const withMark = (wire: ReadonlyArray<WireMessage>): ReadonlyArray<WireMessage> => {
  const last = wire.at(-1)
  if (last === undefined) return wire
  const { content, role } = last
  if (role === "tool") return [...wire.slice(0, -1), { ...last, ...cacheControl }]
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : content ?? []
  const at = parts.findLastIndex((part) => "type" in part && part.type === "text")
  const marked = parts.map((part, i) => i === at ? { ...part, ...cacheControl } : part)
  return [...wire.slice(0, -1), { ...last, content: marked }]
}

/** The elements of a list, without brackets. */
const bytesOf = (elements: ReadonlyArray<object>): Buffer =>
  Buffer.from(cleanBody(JSON.stringify(elements)).slice(1, -1))

const toTool = ({ description, inputSchema, name }: ToolSpec): Buffer =>
  bytesOf([{ type: "function", function: { name, description, parameters: inputSchema } }])

/** A message as it is sent. */
interface WireMessage {
  readonly role: string
  readonly content: string | null | ReadonlyArray<object>
}

const toMessages = (message: PromptMessage, model: string, dialect: Dialect): ReadonlyArray<WireMessage> => {
  const { callID = same } = dialect
  switch (message.role) {
    case "system":
      return [{ role: dialect.system ?? "system", content: message.content }]
    case "user": {
      const [first] = message.content
      const plain = message.content.length === 1 && first?.type === "text"
      // Some servers accept plain text only.
      const content = plain ? first.text : message.content.map((part) => part.type === "text" ? part : toPart(part))
      return [{ role: "user", content }]
    }
    case "assistant":
      return [toAnswer(message, model, dialect)]
    case "tool":
      return message.content.map(({ output, toolCallId }) => ({
        role: "tool",
        tool_call_id: callID(toolCallId),
        content: output.value
      }))
  }
}

const same = (id: string): string => id

const usualField = "reasoning_content"

const toAnswer = (
  { content, model: author }: Extract<PromptMessage, { readonly role: "assistant" }>,
  model: string,
  { callID = same, needsReasoning = false, reasoning: provider }: Dialect
): WireMessage => {
  let text = ""
  let reasoning = ""
  let field = usualField
  let signed: object | undefined
  const calls: Array<object> = []
  // What another model wants back means nothing to this one.
  const wantedIn = ({ providerOptions = {} }: { readonly providerOptions?: ProviderMetadata }) =>
    provider === undefined || (author !== undefined && author.modelID !== model) ? undefined : providerOptions[provider]
  for (const part of content) {
    switch (part.type) {
      case "text":
        text += part.text
        break
      case "reasoning":
        if (author !== undefined && author.modelID !== model) break
        if (provider !== undefined && (part.providerOptions === undefined || provider in part.providerOptions)) {
          reasoning += part.text
          if (part.text !== "") field = wantedIn(part)?.["field"] === "reasoning" ? "reasoning" : usualField
          signed = fields(wantedIn(part)?.["message"]) ?? signed
        }
        break
      case "tool-call":
        calls.push({
          ...fields(wantedIn(part)?.["call"]),
          id: callID(part.toolCallId),
          type: "function",
          function: { name: part.toolName, arguments: JSON.stringify(argumentsOf(part.input)) }
        })
    }
  }
  return {
    ...signed,
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    ...reasoning === "" && !(needsReasoning && calls.length > 0) ? {} : { [field]: reasoning },
    ...calls.length === 0 ? {} : { tool_calls: calls }
  }
}

const toPart = (part: FileContent): object => {
  const file = readFile(part)
  if (file.type === "text") return file
  const { mediaType } = part
  if (mediaType.startsWith("image/")) {
    const url = file.type === "url"
      ? file.url
      : `data:${mediaType === "image/*" ? "image/jpeg" : mediaType};base64,${file.base64}`
    return { type: "image_url", image_url: { url } }
  }
  if (file.type === "url") {
    // A text can be named at least.
    if (mediaType.startsWith("text/")) return { type: "text", text: file.url }
    throw new Unaskable(`it takes no address of a file of the type ${mediaType}, but only the file itself`)
  }
  const format = sounds.get(mediaType)
  if (format !== undefined) return { type: "input_audio", input_audio: { data: file.base64, format } }
  if (mediaType === "application/pdf") {
    const data = `data:application/pdf;base64,${file.base64}`
    return { type: "file", file: { filename: part.filename ?? "document.pdf", file_data: data } }
  }
  throw new Unaskable(`it takes no files of the type ${mediaType}`)
}

const sounds: ReadonlyMap<string, string> = new Map([
  ["audio/wav", "wav"],
  ["audio/mp3", "mp3"],
  ["audio/mpeg", "mp3"]
])
