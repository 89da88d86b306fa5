/** Writes requests for the Chat Completions API. */
import type { FileContent, ModelRequest, PromptMessage, ProviderMetadata, ToolSpec } from "@skein/core/Provider"
import { Unaskable } from "../errors.ts"
import { unknownVariant } from "../failure.ts"
import { cleanBody, fields } from "../json.ts"
import { argumentsOf, cacheControl, keepsMarked, markedIn, readFile } from "../prompt.ts"

const comma = Buffer.from(",")

const nothing = Buffer.alloc(0)

/** What surrounds a list: the text `before` and `after` it, and the `first` elements, which differ each time. */
interface Around {
  readonly before: Buffer
  readonly first: ReadonlyArray<Buffer>
  readonly after: ReadonlyArray<Buffer>
}

/** Joins elements by commas, without the empty ones. */
const separated = (elements: ReadonlyArray<Buffer>): ReadonlyArray<Buffer> =>
  elements.filter((each) => each.length > 0).flatMap((each, at) => at === 0 ? [each] : [comma, each])

const lengthOf = (pieces: ReadonlyArray<Buffer>): number => pieces.reduce((sum, each) => sum + each.length, 0)

/**
 * Turns a writer of elements into a writer of lists. If a list begins with the same objects as an earlier one, it reuses
 * their bytes: a long conversation costs one copy, not a new serialisation.
 */
export const makeGrowing = <A extends object>(write: (element: A) => Buffer) => {
  // Keyed by the last element, so that the cache is collected together with the conversation.
  const written = new WeakMap<A, { readonly list: ReadonlyArray<A>; readonly bytes: Buffer }>()

  const isBeginning = (list: ReadonlyArray<A>) => (last: A, at: number): boolean => {
    const known = written.get(last)
    return known?.list.length === at + 1 && known.list.every((each, i) => each === list[i])
  }

  return (list: ReadonlyArray<A>, { after, before, first }: Around): Buffer => {
    const end = list.findLast(isBeginning(list))
    const known = end === undefined ? undefined : written.get(end)
    const pieces = separated([known?.bytes ?? nothing, ...list.slice(known?.list.length ?? 0).map(write)])
    const opening = separated([...first, ...pieces.slice(0, 1)])
    const whole = Buffer.concat([before, ...opening, ...pieces.slice(1), ...after])
    // Nobody asks for the shorter list again.
    if (end !== undefined) written.delete(end)
    const last = list.at(-1)
    const until = whole.length - lengthOf(after)
    if (last !== undefined) written.set(last, { list, bytes: whole.subarray(until - lengthOf(pieces), until) })
    return whole
  }
}

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

const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"]

/** Models that reason. */
const reasoner = /^(?:o\d+|gpt-(?:[5-9]|\d{2,})(?:\.\d+|(?!-chat)))(?:-|$)/

/** Reasoning models whose reasoning can be turned off. */
const optionalReasoner = /^gpt-5\.[1-9]/

/**
 * The dialect of a model. `isOfficial`: the server is OpenAI's, which knows fields that others may refuse. `hasOwnNames`:
 * the names of models say nothing, as those of Azure's deployments.
 */
export const openAiDialect = (modelID: string, isOfficial: boolean, hasOwnNames = false): Dialect => {
  const reasons = reasoner.test(modelID)
  return {
    system: reasons ? "developer" : "system",
    settings: ({ maxOutputTokens, origin, temperature, topP, variant }: ModelRequest) => {
      if (variant !== undefined && !efforts.includes(variant)) {
        throw new Unaskable(`it knows the reasoning efforts ${efforts.join(", ")}, and no ${variant}`, unknownVariant)
      }
      const samples = !reasons || (variant === "none" && optionalReasoner.test(modelID))
      return {
        ...samples ? { temperature, top_p: topP } : {},
        // Reasoning models refuse the old name. Servers with older models know only that one.
        ...reasons || hasOwnNames ? { max_completion_tokens: maxOutputTokens } : { max_tokens: maxOutputTokens },
        reasoning_effort: variant,
        stream_options: { include_usage: true },
        ...isOfficial ? { prompt_cache_key: origin.cachedAs ?? origin.sessionID } : {}
      }
    }
  }
}
