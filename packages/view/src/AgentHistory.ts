/** Reads from the messages of a session which model answered last, and which calls run. */
import type { AgentHistory } from "@skein/api/Output"
import type { SessionID } from "@skein/domain/Id"
import type { MessageWithParts } from "@skein/domain/Part"

/** What an agent did, as its tree recalls it. */
export const historyOf = (
  sessionID: SessionID,
  messages: ReadonlyArray<MessageWithParts>
): Omit<AgentHistory, "spans"> => {
  const calls: Array<AgentHistory["calls"][number]> = []
  let last: AgentHistory["last"]
  let model: AgentHistory["model"]
  for (const { info, parts } of messages) {
    if (info.role === "assistant") model = { providerID: info.providerID, modelID: info.modelID }
    for (const part of parts) {
      if (part.type !== "tool" || part.state.status === "pending") continue
      const title = "title" in part.state ? part.state.title ?? "" : ""
      last = { tool: part.tool, title }
      if (part.state.status === "running") calls.push({ id: part.id, tool: part.tool, title })
    }
  }
  return { sessionID, calls, ...(last === undefined ? {} : { last }), ...(model === undefined ? {} : { model }) }
}
