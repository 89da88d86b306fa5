/** Estimates the tokens of a request before its model counts them, and decides how long it may be. */
import type { ModelInfo } from "@skein/domain/Model"
import type { Part } from "@skein/domain/Part"
import type { ModelRequest, PromptMessage, ToolSpec } from "../../Provider.ts"

/** The length of a request in characters, and the tokens that its model counted for it. */
export interface Measure {
  readonly size: number
  readonly tokens: number
}

/** Tokens per character if nothing was counted, and the maximum in any language. */
const usual = 0.25
const most = 1

/** The size of a file, in characters: models count images in their own way. */
const file = 6_000

/** The maximum share of a shared context that is left for the answer. */
const answerShare = 1 / 3

const sizes = new WeakMap<object, number>()

const remembered = <A extends object>(value: A, count: (value: A) => number): number => {
  const known = sizes.get(value)
  if (known !== undefined) return known
  const size = count(value)
  sizes.set(value, size)
  return size
}

const sizeOfMessage = (message: PromptMessage): number => {
  if (message.role === "system") return message.content.length
  let sum = 0
  for (const part of message.content) {
    switch (part.type) {
      case "text":
      case "reasoning":
        sum += part.text.length
        break
      case "file":
        sum += Math.min(part.data.length, file)
        break
      case "tool-call":
        sum += part.toolName.length + (JSON.stringify(part.input)?.length ?? 0)
        break
      case "tool-result":
        sum += part.output.value.length
    }
  }
  return sum
}

const sizeOfTool = (tool: ToolSpec): number => JSON.stringify(tool).length

/** The length of a conversation, in characters. */
export const sizeOf = (messages: ReadonlyArray<PromptMessage>): number =>
  messages.reduce((sum, message) => sum + remembered(message, sizeOfMessage), 0)

/** The length of a request, in characters. */
export const sizeOfRequest = ({ messages, tools }: Pick<ModelRequest, "messages" | "tools">): number =>
  sizeOf(messages) + tools.reduce((sum, tool) => sum + remembered(tool, sizeOfTool), 0)

/** Tokens per character, by the last count. */
export const rateOf = (measured: Measure | undefined): number =>
  measured === undefined || measured.size === 0
    ? usual
    : Math.min(most, Math.max(usual, measured.tokens / measured.size))

/** The tokens of that many characters: the last count and what came since, or its share of that. */
export const estimate = (size: number, measured: Measure | undefined): number => {
  if (measured === undefined) return Math.ceil(size * usual)
  return Math.ceil(
    size >= measured.size
      ? measured.tokens + (size - measured.size) * rateOf(measured)
      : measured.tokens * (size / measured.size)
  )
}

/** Scripts with fewer letters per token than Latin: about two, or one. */
const middle = /[\u0370-\u2dff]/g
const wide = /[\u2e80-\uffff]/g

const textsOf = (message: PromptMessage): ReadonlyArray<string> => {
  if (message.role === "system") return [message.content]
  return message.content.flatMap((part) => {
    switch (part.type) {
      case "text":
      case "reasoning":
        return [part.text]
      case "tool-result":
        return [part.output.value]
      case "tool-call":
        return [JSON.stringify(part.input) ?? ""]
      case "file":
        return []
    }
  })
}

/** How many more tokens a text has than its length suggests. */
const extraOfText = (text: string): number =>
  (text.match(middle)?.length ?? 0) * usual + (text.match(wide)?.length ?? 0) * (most - usual)

/** The estimated tokens of a text; `rate` is how many its model counts for one estimated token. */
export const tokensOfText = (text: string, rate = 1): number =>
  Math.ceil((text.length * usual + extraOfText(text)) * rate)

/** The estimated tokens of what a model has said. */
export const tokensSaid = (parts: ReadonlyArray<Part>, rate?: number): number =>
  parts.reduce((sum, part) => {
    if (part.type === "text" || part.type === "reasoning") return sum + tokensOfText(part.text, rate)
    return part.type === "tool" && part.state.status === "pending" ? sum + tokensOfText(part.state.input, rate) : sum
  }, 0)

const extras = new WeakMap<object, number>()

/** How many more tokens a message has than its length suggests. */
const extraOf = (message: PromptMessage): number => {
  const known = extras.get(message)
  if (known !== undefined) return known
  const sum = textsOf(message).reduce((before, text) => before + extraOfText(text), 0)
  extras.set(message, sum)
  return sum
}

/** What encloses a message, and each piece of it, in tokens: names, ids and marks. */
const frame = { message: 6, piece: 12 }

const frameOf = ({ content }: PromptMessage): number =>
  frame.message + (typeof content === "string" ? 0 : content.length * frame.piece)

/** The tokens of a request, estimated from its letters and its form. */
export const weightOf = (request: Pick<ModelRequest, "messages" | "tools">): number =>
  Math.ceil(
    sizeOfRequest(request) * usual +
      request.messages.reduce((sum, message) => sum + extraOf(message) + frameOf(message), 0)
  )

/**
 * The estimated tokens of a request: the last count of its session, and what came since. The first request of a session
 * is estimated from its letters, scaled by `rate`: the tokens that the same model counted for one estimated token.
 */
export const expectedInput = (
  request: Pick<ModelRequest, "messages" | "tools">,
  measured: Measure | undefined,
  rate: number | undefined
): number =>
  measured === undefined ? Math.ceil(weightOf(request) * (rate ?? 1)) : estimate(sizeOfRequest(request), measured)

/** How many tokens a model may read, leaving room for its answer; undefined if unknown. */
export const roomOf = ({ limit }: ModelInfo): number | undefined =>
  limit === undefined ? undefined : limit.context - Math.min(limit.output, Math.floor(limit.context * answerShare))
