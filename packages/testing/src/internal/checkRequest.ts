/** Checks requests as a strict provider does: refuses an inconsistent conversation. */
import type { ModelRequest, PromptMessage, ToolCallContent } from "@skein/core/Provider"

const toolName = /^[a-zA-Z0-9_-]{1,64}$/

/** Whether all texts are valid Unicode; the input of a call is sent as JSON, which can escape other characters. */
const isWellFormed = (value: unknown): boolean => {
  let all = true
  JSON.stringify(value, (key, each: unknown) => {
    if (typeof each === "string" && !each.isWellFormed()) all = false
    return key === "input" ? undefined : each
  })
  return all
}

const callsOf = (message: PromptMessage | undefined): ReadonlyArray<ToolCallContent> =>
  message?.role === "assistant" ? message.content.filter((part) => part.type === "tool-call") : []

const wrongCall = ({ input, toolCallId, toolName: name }: ToolCallContent, known: Set<string>): string | undefined => {
  if (toolCallId === "" || known.has(toolCallId)) return `the id "${toolCallId}" of a call is empty or used twice`
  known.add(toolCallId)
  if (!toolName.test(name)) return `"${name}" is not a name of a tool`
  return typeof input !== "object" || input === null || Array.isArray(input)
    ? "the input of a call is not an object"
    : undefined
}

const wrongResults = (message: Extract<PromptMessage, { role: "tool" }>, before: PromptMessage | undefined) => {
  const calls = callsOf(before).map((call) => call.toolCallId)
  const results = message.content.map((result) => result.toolCallId)
  if (message.content.some(({ output }) => output.value.trim() === "")) return "a result is blank"
  return calls.join() === results.join() ? undefined : `results of ${results.join()} follow calls of ${calls.join()}`
}

const wrongMessage = (
  message: PromptMessage,
  before: PromptMessage | undefined,
  ids: Set<string>
): string | undefined => {
  if (message.role === "system") {
    if (message.content.trim() === "") return "the system message is blank"
    return before === undefined ? undefined : "a system message stands inside"
  }
  if (message.content.length === 0) return `a message of the ${message.role} is empty`
  if (message.role !== "tool") {
    if (before?.role === message.role) return `two messages of the ${message.role} follow each other`
    if (message.content.some((part) => part.type === "text" && part.text.trim() === "")) return "a text is blank"
  }
  if (message.role !== "tool" && callsOf(before).length > 0) return "a call has no result"
  if (message.role === "tool") return wrongResults(message, before)
  if (message.role === "user") return undefined
  if (before === undefined || before.role === "system") return "the conversation begins with an answer"
  if (message.content.every((part) => part.type === "reasoning")) return "an answer has nothing but reasoning"
  return callsOf(message).map((call) => wrongCall(call, ids)).find((wrong) => wrong !== undefined)
}

/** Returns what is wrong with a request; undefined if a strict provider accepts it. */
export const checkRequest = ({ messages, tools }: ModelRequest): string | undefined => {
  const ids = new Set<string>()
  for (const [i, message] of messages.entries()) {
    const wrong = wrongMessage(message, messages[i - 1], ids)
    if (wrong !== undefined) return `message ${i}: ${wrong}`
  }
  const last = messages.at(-1)
  if (last?.role !== "user" && last?.role !== "tool") return "the last message is neither the user's nor a result"
  if (!isWellFormed(messages)) return "a text is not well-formed Unicode"
  const bad = tools.find((tool) => !toolName.test(tool.name) || tool.inputSchema["type"] !== "object")
  if (bad !== undefined) return `the tool "${bad.name}" has no proper name or takes no object`
  return new Set(tools.map((tool) => tool.name)).size === tools.length ? undefined : "two tools have one name"
}
