/** Encodes a tree for a client that knows subagents: each session tells its own updates, and is announced by its parent. */
import type {
  IdleStateUpdate,
  StateUpdate,
  SubagentUpdate,
  Usage as WireUsage
} from "@agentclientprotocol/sdk/unstable"
import { type Outcome, reason } from "@skein/domain/Outcome"
import type { Usage } from "@skein/domain/Usage"
import type { Change, SubagentState } from "../../Projection.ts"
import { type Encoder, type Facts, ownUpdates, type Update } from "./common.ts"

/** Tokens as the protocol counts them. */
export const wireUsage = ({ tokens }: Usage): WireUsage => ({
  totalTokens: tokens.input + tokens.output,
  inputTokens: tokens.input,
  outputTokens: tokens.output,
  thoughtTokens: tokens.reasoning,
  cachedReadTokens: tokens.cacheRead,
  cachedWriteTokens: tokens.cacheWrite
})

/** How JSON-RPC calls an error that has no number of its own. */
const internalError = -32603

const stopOf = (outcome: Outcome): IdleStateUpdate => {
  switch (outcome.status) {
    case "completed":
    case "empty":
      return { stopReason: "end_turn" }
    case "stopped":
    case "denied":
      return { stopReason: "cancelled" }
    case "budget_exhausted":
      if (outcome.which === "steps") return { stopReason: "max_turn_requests" }
      if (outcome.which === "tokens") return { stopReason: "max_tokens" }
  }
  return { stopReason: "error", error: { code: internalError, message: reason(outcome) } }
}

const stateOf = (state: SubagentState): StateUpdate => {
  if (state.type === "running") return { state: "running" }
  if (state.type === "asking") return { state: "requires_action" }
  const { outcome, runID } = state
  return {
    state: "idle",
    ...stopOf(outcome),
    usage: wireUsage(outcome.usage),
    _meta: { "skein/outcome": outcome.status, "skein/runId": runID, "skein/durationMs": outcome.durationMs }
  }
}

/** What the child concluded, as a message to its parent. */
const answer = (change: Extract<Change, { readonly type: "subagent" }>): ReadonlyArray<Update> => {
  if (change.state.type !== "settled" || change.state.outcome.text === "") return []
  return [{
    sessionId: change.session,
    update: {
      sessionUpdate: "session_message",
      messageId: change.state.runID,
      senderSessionId: change.subagent.id,
      recipientSessionId: change.session,
      content: [{ type: "text", text: change.state.outcome.text }]
    }
  }]
}

/** Makes the encoder. */
export const nested = (facts: Facts): Encoder => {
  const announced = new Set<string>()
  const heard = new Set<string>()
  const parents = new Map<string, string>()

  const announce = (change: Extract<Change, { readonly type: "subagent" }>): ReadonlyArray<Update> => {
    const { agent, directory, id, title } = change.subagent
    const isFirst = !announced.has(id)
    announced.add(id)
    parents.set(id, change.session)
    const update: SubagentUpdate = {
      sessionId: id,
      title,
      description: agent,
      state: stateOf(change.state),
      ...(isFirst ? { capabilities: { cancel: {} } } : {}),
      ...(directory === undefined ? {} : { cwd: directory })
    }
    return [...answer(change), { sessionId: change.session, update: { sessionUpdate: "subagent_update", ...update } }]
  }

  /** An instruction for the child: its sender is sent once, and its text grows. */
  const instruction = (change: Extract<Change, { readonly type: "text" }>): ReadonlyArray<Update> => {
    const sessionId = change.session
    const isFirst = !heard.has(change.message)
    heard.add(change.message)
    const sender = parents.get(sessionId)
    return [
      ...(isFirst
        ? [
          {
            sessionId,
            update: {
              sessionUpdate: "session_message",
              messageId: change.message,
              ...(sender === undefined ? {} : { senderSessionId: sender }),
              recipientSessionId: sessionId
            }
          } as const
        ]
        : []),
      {
        sessionId,
        update: {
          sessionUpdate: "session_message_chunk",
          messageId: change.message,
          content: { type: "text", text: change.text }
        }
      }
    ]
  }

  return {
    isNested: true,
    sessionOf: (session) => session,
    encode: (change) => {
      if (change.type === "subagent") return announce(change)
      if (change.type === "text" && change.by === "caller") return instruction(change)
      return ownUpdates(change, facts).map((update) => ({ sessionId: change.session, update }))
    }
  }
}
