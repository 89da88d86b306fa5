/** Marks what Anthropic's servers should keep of a prompt, so that the next request pays a fraction for it. */
import type { LanguageModelV3CallOptions, LanguageModelV3Message } from "@ai-sdk/provider"

const point = { anthropic: { cacheControl: { type: "ephemeral" } } } as const

/** A request may have four points: the tools, the system prompt and two messages. */
const messagePoints = 2

const isAsking = ({ role }: LanguageModelV3Message): boolean => role === "user" || role === "tool"

/**
 * Marks the ends of what later requests repeat. The tools stand first and are the same for all sessions of an agent. Then
 * comes the system prompt, then the conversation. The server finds an earlier entry only near a point, so the place where
 * the request before ended is marked as well.
 */
export const withCachePoints = (options: LanguageModelV3CallOptions): LanguageModelV3CallOptions => {
  const { prompt, tools = [] } = options
  const asking = prompt.flatMap((message, at) => isAsking(message) ? [at] : [])
  const marked = new Set([prompt.findLastIndex(({ role }) => role === "system"), ...asking.slice(-messagePoints)])
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
