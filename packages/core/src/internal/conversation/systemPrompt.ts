/** Builds the system prompt of an agent: who it is, its role, the working rules, instructions and facts. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { UserMessage } from "@skein/domain/Message"
import type { Live } from "../live/Live.ts"
import * as prompts from "../prompts.ts"

/**
 * The system prompt. An agent's own prompt replaces only the part that says who it is, unless its definition makes it
 * the whole system prompt.
 */
export const systemPrompt = (options: {
  readonly live: Live
  readonly agent: AgentInfo
  /** The agent's own prompt, ready to be sent. */
  readonly own: string | undefined
  /** The project's instructions for all agents. */
  readonly instructions: string | undefined
  /** What the owners of the offered tools say about their use. */
  readonly guides: string
  readonly user: UserMessage
  readonly now: number
}): string => {
  const { agent, guides, instructions, live, now, own = "", user } = options
  const isSubagent = live.parent !== undefined
  const parts = agent.promptMode === "replace" && own !== ""
    ? [own, user.system]
    : [
      own === "" && !isSubagent ? prompts.unnamed : own,
      isSubagent ? prompts.subagentRole : undefined,
      prompts.workingRules,
      instructions,
      guides,
      prompts.environment({ directory: live.info.directory, date: new Date(now).toISOString().slice(0, 10) }),
      user.system
    ]
  return parts.filter((text) => text !== undefined && text !== "").join("\n\n")
}
