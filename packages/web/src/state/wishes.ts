/** Decides what a person can request of agents, and which event shows that it has happened. */
import type { AgentNode } from "@skein/view/AgentNode"
import { request } from "./actions.ts"
import { ask, RequestFailed } from "./api.ts"

/** The name of an agent in buttons and announcements. */
export const nameOf = ({ agent, title }: Pick<AgentNode, "agent" | "title">): string => title === "" ? agent : title

const isRoot = ({ parentID }: AgentNode): boolean => parentID === undefined

/** Whether an agent has something to stop. */
export const canStop = ({ state }: AgentNode): boolean => state.type !== "settled" && state.type !== "idle"

/** Whether a call waits for an agent, so that it can go to the background. */
export const canPromote = (node: AgentNode): boolean => !isRoot(node) && !node.background && canStop(node)

/** Whether the work of an agent was cut off. */
export const canResume = ({ asks, state }: AgentNode): boolean => state.type === "interrupted" && asks.size === 0

/** Stops an agent and everything below it. */
export const stop = (node: AgentNode): Promise<boolean> =>
  request({
    about: node.id,
    label: "Stopping",
    path: isRoot(node) ? `/v1/sessions/${node.id}/interrupt` : `/v1/tasks/${node.id}/stop`,
    isDone: ({ sessionID, type }) =>
      sessionID === node.id
      && (isRoot(node) ? type === "session.idle" : type === "subagent.failed" || type === "subagent.completed"),
    done: `Stopped ${nameOf(node)}`
  })

/** Moves an agent to the background. */
export const promote = (node: AgentNode): Promise<boolean> =>
  request({
    about: node.id,
    label: "Moving to the background",
    path: `/v1/tasks/${node.id}/promote`,
    isDone: ({ sessionID, type }) => sessionID === node.id && type === "background_task.started",
    done: `${nameOf(node)} continues in the background`
  })

/** Continues what was interrupted in the tree of an agent. */
export const resume = (node: AgentNode): Promise<boolean> =>
  request({
    about: node.id,
    label: "Resuming",
    path: `/v1/sessions/${node.id}/resume`,
    isDone: (event) =>
      event.type === "session.status" && !["idle", "away", "stuck"].includes(event.properties.status.type),
    done: `Resumed ${nameOf(node)}`
  })

/** The name of a command. Other words after a slash are paths or patterns. */
const commandName = /^[\p{L}\p{N}][\p{L}\p{N}_:-]*$/u

/**
 * The body of a prompt: a command of a place, given as a query, or words, in which the server reads names after `@`. Fails
 * if there is no such command.
 */
export const promptOf = async (text: string, place: string): Promise<object> => {
  const [, name, words = ""] = /^\/(\S{1,200})(?:\s+([^]*))?$/.exec(text) ?? []
  if (name === undefined) return { words: text }
  try {
    await ask("GET", `/v1/commands/${encodeURIComponent(name)}?${place}`)
    return { command: { name, arguments: words } }
  } catch (error) {
    if (!(error instanceof RequestFailed) || error.status !== 404) throw error
    if (!commandName.test(name)) return { words: text }
    throw new RequestFailed(404, `${error.message} To send it as text, begin the prompt with a space.`)
  }
}

/** Sends a message to an agent. A root is prompted; a task reads it at its next step or starts again. */
export const say = (node: AgentNode, text: string): Promise<boolean> =>
  request({
    about: node.id,
    label: "Sending",
    path: isRoot(node) ? `/v1/sessions/${node.id}/prompt` : `/v1/tasks/${node.id}/message`,
    body: isRoot(node) ? () => promptOf(text, `directory=/&session=${node.id}`) : { message: text },
    ...(isRoot(node) ? { idempotencyKey: crypto.randomUUID() } : {}),
    isDone: (event) =>
      event.sessionID === node.id && event.type === "message.updated" && event.properties.info.role === "user",
    done: `${nameOf(node)} has your message`
  })

/** Answers a question. */
export const reply = (id: string, label: string, body: object): Promise<boolean> =>
  request({
    about: id,
    label,
    path: `/v1/asks/${id}/reply`,
    body,
    isDone: (event) =>
      (event.type === "permission.replied" || event.type === "question.replied") && event.properties.id === id,
    done: "Answered"
  })
