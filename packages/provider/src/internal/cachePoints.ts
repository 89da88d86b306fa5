/** Marks what the servers of Claude should keep of a prompt, so that the next request pays a fraction for it. */
import type { LanguageModelV3CallOptions, LanguageModelV3Message } from "@ai-sdk/provider"

/** Whether a model is of the family that keeps only what is marked, on any server. */
export const keepsMarked = (modelID: string): boolean => /claude/i.test(modelID)

/** The mark in Chat Completions. */
export const cacheControl = { cache_control: { type: "ephemeral" } } as const

const control = { cacheControl: { type: "ephemeral" } } as const

/** The mark of each package of the AI SDK, which reads its own. */
const point = { anthropic: control, openrouter: control, bedrock: { cachePoint: { type: "default" } } } as const

/** A request may have four points: the tools, the system prompt and two messages. */
const messagePoints = 2

/** The places of the messages to mark: the ends of this request and of the one before. */
export const markedIn = (messages: ReadonlyArray<{ readonly role: LanguageModelV3Message["role"] }>): Set<number> => {
  const asking = messages.flatMap(({ role }, at) => role === "user" || role === "tool" ? [at] : [])
  return new Set([messages.findLastIndex(({ role }) => role === "system"), ...asking.slice(-messagePoints)])
}

/**
 * Marks the ends of what later requests repeat. The tools stand first and are the same for all sessions of an agent. Then
 * comes the system prompt, then the conversation. The server finds an earlier entry only near a point, so the place where
 * the request before ended is marked as well.
 */
export const withCachePoints = (options: LanguageModelV3CallOptions): LanguageModelV3CallOptions => {
  const { prompt, tools = [] } = options
  const marked = markedIn(prompt)
  return {
    ...options,
    prompt: prompt.map((message, at) => marked.has(at) ? { ...message, providerOptions: point } : message),
    ...tools.length === 0 ? {} : {
      tools: tools.map((tool, at) =>
        at === tools.length - 1 && tool.type === "function" ? { ...tool, providerOptions: point } : tool
      )
    }
  }
}
