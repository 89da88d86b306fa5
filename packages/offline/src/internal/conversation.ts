/** Reads the current turn of a conversation: the prompt, and the calls since then with their results. */
import type { PromptMessage } from "@skein/core/Provider"

/** A call in this turn, with its result if there is one. */
export interface Call {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  readonly output: { readonly failed: boolean; readonly text: string } | undefined
}

/** Everything since the last answer. */
export interface Turn {
  /** The prompt. */
  readonly prompt: string
  /** Messages that arrived during the turn. */
  readonly later: ReadonlyArray<string>
  /** The calls of each step, in order. */
  readonly rounds: ReadonlyArray<ReadonlyArray<Call>>
  /** The number of calls in the whole conversation. */
  readonly callCount: number
}

const textOf = (message: Extract<PromptMessage, { role: "user" }>): string =>
  message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n").trim()

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const callsOf = (message: Extract<PromptMessage, { role: "assistant" }>) =>
  message.content.flatMap((part) => (part.type === "tool-call" ? [part] : []))

/** Reads the current turn, which begins after the last assistant message without calls. */
export const readTurn = (messages: ReadonlyArray<PromptMessage>): Turn => {
  const answered = messages.findLastIndex((message) => message.role === "assistant" && callsOf(message).length === 0)
  const turn = messages.slice(answered + 1)
  const begin = turn.findIndex((message) => message.role === "assistant")
  const asked = (begin < 0 ? turn : turn.slice(0, begin)).flatMap((
    message
  ) => (message.role === "user" ? [textOf(message)] : []))
  const later = begin < 0
    ? []
    : turn.slice(begin).flatMap((message) => (message.role === "user" ? [textOf(message)] : []))
  const rounds = turn.flatMap((message, at) => {
    if (message.role !== "assistant") return []
    // Results follow their calls. Ids are unique only within a message.
    const next = turn.findIndex((candidate, index) => index > at && candidate.role === "assistant")
    const results = turn.slice(at + 1, next < 0 ? undefined : next)
      .flatMap((candidate) => (candidate.role === "tool" ? candidate.content : []))
    return [
      callsOf(message).map((call): Call => {
        const output = results.find((result) => result.toolCallId === call.toolCallId)?.output
        return {
          name: call.toolName,
          input: isRecord(call.input) ? call.input : {},
          output: output === undefined ? undefined : { failed: output.type === "error-text", text: output.value }
        }
      })
    ]
  })
  return {
    prompt: asked.join("\n\n").trim(),
    later: later.filter((text) => text !== ""),
    rounds,
    callCount: messages.reduce((sum, message) => sum + (message.role === "assistant" ? callsOf(message).length : 0), 0)
  }
}
