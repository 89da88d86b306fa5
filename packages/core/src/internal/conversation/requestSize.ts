/** Decides how long a request is in tokens before anybody has counted them, and how long it may be. */
import type { ModelInfo } from "@skein/domain/Model"
import type { ModelRequest, PromptMessage, ToolSpec } from "../../Provider.ts"

/** How long a request was, in characters, and how many tokens its model counted for it. */
export interface Measure {
  readonly size: number
  readonly tokens: number
}

/** Tokens to a character where nothing was counted, and the most that there are of them in any language. */
const usual = 0.25
const most = 1

/** What a file counts, in characters: models see pictures at a size of their own. */
const file = 6_000

/** The share of what a model reads and writes together that is left for its answer at most. */
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

/** How long a conversation is, in characters. */
export const sizeOf = (messages: ReadonlyArray<PromptMessage>): number =>
  messages.reduce((sum, message) => sum + remembered(message, sizeOfMessage), 0)

/** How long a request is, in characters. */
export const sizeOfRequest = ({ messages, tools }: Pick<ModelRequest, "messages" | "tools">): number =>
  sizeOf(messages) + tools.reduce((sum, tool) => sum + remembered(tool, sizeOfTool), 0)

/** How many tokens a character is, by what was counted last. */
export const rateOf = (measured: Measure | undefined): number =>
  measured === undefined || measured.size === 0
    ? usual
    : Math.min(most, Math.max(usual, measured.tokens / measured.size))

/** How many tokens so many characters are: what was counted last, with what came since, or its share of that. */
export const estimate = (size: number, measured: Measure | undefined): number => {
  if (measured === undefined) return Math.ceil(size * usual)
  return Math.ceil(
    size >= measured.size
      ? measured.tokens + (size - measured.size) * rateOf(measured)
      : measured.tokens * (size / measured.size)
  )
}

/** Scripts of which a token holds fewer letters than of Latin: about two, or one. */
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

const extras = new WeakMap<object, number>()

/** How many tokens more a message has than its length says. */
const extraOf = (message: PromptMessage): number => {
  const known = extras.get(message)
  if (known !== undefined) return known
  let sum = 0
  for (const text of textsOf(message)) {
    sum += (text.match(middle)?.length ?? 0) * usual + (text.match(wide)?.length ?? 0) * (most - usual)
  }
  extras.set(message, sum)
  return sum
}

/** How many tokens a request has by its letters alone. */
export const weightOf = (request: Pick<ModelRequest, "messages" | "tools">): number =>
  Math.ceil(sizeOfRequest(request) * usual + request.messages.reduce((sum, message) => sum + extraOf(message), 0))

/**
 * How many tokens a request is likely to take: what its session's last one took, with what came since. The first one of a
 * session goes by its letters, and by how many tokens the same model counted for such before: `rate` of them.
 */
export const expectedInput = (
  request: Pick<ModelRequest, "messages" | "tools">,
  measured: Measure | undefined,
  rate: number | undefined
): number =>
  measured === undefined ? Math.ceil(weightOf(request) * (rate ?? 1)) : estimate(sizeOfRequest(request), measured)

/** How many tokens a model reads, with room for its answer; undefined where that is not known. */
export const roomOf = ({ limit }: ModelInfo): number | undefined =>
  limit === undefined ? undefined : limit.context - Math.min(limit.output, Math.floor(limit.context * answerShare))
