/** Leaves old tool outputs and refused reasoning out of requests; they stay stored. */
import type { MessageID } from "@skein/domain/Id"
import type { PromptMessage, ToolCallContent, ToolResultContent } from "../../Provider.ts"
import type { LiveMessage } from "../live/History.ts"

/** Outputs that stay: conclusions of subagents and answers of people, which another call would not return. */
const lasting = new Set(["task", "task_wait", "question", "skill", "final_answer"])

/** The longest output, in characters, that is not worth leaving out. */
const short = 400

/** The minimum number of messages with calls that keep their outputs. */
const newest = 2

const argumentsOf = ({ input }: ToolCallContent): string => {
  const text = JSON.stringify(input) ?? ""
  return text.length <= 120 ? text : `${text.slice(0, 119)}…`
}

/** Replaces an output: names the call, and says how to get the output again. */
const placeholder = (call: ToolCallContent, characters: number): string =>
  `[The output of ${call.toolName} ${
    argumentsOf(call)
  } (${characters} characters) was left out to save room. Make the call again if you need it.]`.toWellFormed()

const withoutOutput = (result: ToolResultContent, calls: ReadonlyArray<ToolCallContent>): ToolResultContent => {
  const call = calls.find(({ toolCallId }) => toolCallId === result.toolCallId)
  const { type, value } = result.output
  if (call === undefined || lasting.has(call.toolName) || value.length <= short) return result
  return { ...result, output: { type, value: placeholder(call, value.length) } }
}

/** Files that a tool returned are left out as well; the text says that they existed. */
const withoutFiles = (message: Extract<PromptMessage, { role: "user" }>): PromptMessage => ({
  ...message,
  content: message.content.map((part) =>
    part.type === "file"
      ? { type: "text", text: `[The file ${part.filename ?? part.mediaType} was left out to save room.]` }
      : part
  )
})

const made = new WeakMap<ReadonlyArray<PromptMessage>, ReadonlyArray<PromptMessage>>()

/** An answer with its calls and results, without the outputs; made once, so that its bytes stay the same. */
export const withoutOutputs = (prompt: ReadonlyArray<PromptMessage>): ReadonlyArray<PromptMessage> => {
  const known = made.get(prompt)
  if (known !== undefined) return known
  const [answer] = prompt
  if (answer?.role !== "assistant") return prompt
  const calls = answer.content.filter((part) => part.type === "tool-call")
  const shorter = prompt.map((message): PromptMessage => {
    if (message.role === "user") return withoutFiles(message)
    if (message.role !== "tool") return message
    return { ...message, content: message.content.map((result) => withoutOutput(result, calls)) }
  })
  made.set(prompt, shorter)
  return shorter
}

const plain = new WeakMap<PromptMessage, PromptMessage>()

/** A message without the reasoning and the signatures of an earlier answer; made once, so that its bytes stay the same. */
export const withoutReasoning = (message: PromptMessage): PromptMessage => {
  if (message.role !== "assistant") return message
  if (!message.content.some((part) => part.type === "reasoning" || part.providerOptions !== undefined)) return message
  const known = plain.get(message)
  if (known !== undefined) return known
  const content = message.content.flatMap((part) => {
    if (part.type === "reasoning") return []
    const { providerOptions: _, ...rest } = part
    return [rest]
  })
  const shorter: PromptMessage = { ...message, content }
  plain.set(message, shorter)
  return shorter
}

const outputOf = ({ parts }: LiveMessage): number =>
  parts.reduce(
    (sum, part) => part.type === "tool" && part.state.status === "completed" ? sum + part.state.output.length : sum,
    0
  )

/** The first message whose outputs stay if those of that many characters are protected, the newest first. */
export const firstWhole = (messages: ReadonlyArray<LiveMessage>, characters: number): MessageID | undefined => {
  let left = characters
  let steps = 0
  for (const [i, message] of [...messages.entries()].toReversed()) {
    if (!message.parts.some((part) => part.type === "tool")) continue
    left -= outputOf(message)
    if (left < 0 && steps >= newest) return messages[i + 1]?.info.id
    steps++
  }
  return undefined
}
