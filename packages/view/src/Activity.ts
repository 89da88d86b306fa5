/** Says what an agent does, or why it does nothing, and how urgent that is. */
import type { Outcome } from "@skein/domain/Outcome"
import { type AgentNode, heldText } from "./AgentNode.ts"
import { formatDuration } from "./Numbers.ts"

/** Why a run did not complete; empty if it did. */
export const whyNot = (outcome: Outcome): string => {
  switch (outcome.status) {
    case "completed":
      return ""
    case "empty":
      return `no text (finish reason: ${outcome.finish})`
    case "failed":
      return outcome.error.message
    case "stopped":
      return `by ${outcome.by}`
    case "timed_out":
      return outcome.which === "timeout"
        ? `longer than ${formatDuration(outcome.after)}`
        : `no sign of life for ${formatDuration(outcome.after)}`
    case "budget_exhausted":
      return `its ${outcome.which} are used up`
    case "denied":
      return `${outcome.permission} was rejected`
    case "lost":
      return "its process ended"
  }
}

/** How a run ended, such as `timed out: longer than 5 m 00 s`. */
export const outcomeText = (outcome: Outcome): string => {
  const why = whyNot(outcome)
  const how = outcome.status.replaceAll("_", " ")
  return why === "" ? how : `${how}: ${why}`
}

/** The phase of an agent. Each has a colour, a shape and a word. */
export type Phase = "asking" | "working" | "retrying" | "waiting" | "interrupted" | "failed" | "done"

/** The phases, the most urgent first. */
export const phases: ReadonlyArray<Phase> = [
  "asking",
  "failed",
  "interrupted",
  "working",
  "retrying",
  "waiting",
  "done"
]

/** The phase of an agent. A settled agent needs no answers. */
export const phaseOf = ({ asks, state }: Pick<AgentNode, "asks" | "state">): Phase => {
  if (state.type === "settled") return state.outcome.status === "completed" ? "done" : "failed"
  if (asks.size > 0) return "asking"
  switch (state.type) {
    case "queued":
      return "waiting"
    case "retry":
      return "retrying"
    case "away":
      return "waiting"
    case "stuck":
      return "failed"
    case "elsewhere":
      return "working"
    case "interrupted":
      return "interrupted"
    case "idle":
      return state.end === undefined || state.end.how === "completed" || state.end.how === "steps" ? "done" : "failed"
    case "working":
      return state.what === "waits for budget" || state.what === "waits for its tasks" ? "waiting" : "working"
  }
}

const endText = (end: Extract<AgentNode["state"], { readonly type: "idle" }>["end"]): string => {
  switch (end?.how) {
    case undefined:
    case "completed":
      return ""
    case "steps":
      return "stopped at its limit of steps"
    case "failed":
      return `failed: ${end?.error?.message ?? "the turn has no answer"}`
    case "denied":
    case "stopped":
      return end?.how ?? ""
  }
}

/** The current time, the agent's place in the queue, and the explanation of a run that did not complete. */
export interface ActivityContext {
  readonly now: number
  readonly place?: number | undefined
  readonly why?: (outcome: Outcome) => string
}

/** Where a session works in which another process works. */
export const elsewhereText = ({ url }: { readonly url?: string | undefined }): string =>
  url === undefined ? "works in another process" : `works at another server, ${url.replace(/^https?:\/\//, "")}`

/** The running calls that are no tasks, in a few words; empty if there are none. */
const callsText = (calls: AgentNode["calls"]): string => {
  const [first, ...others] = [...calls.values()].filter(({ tool }) => tool !== "task")
  return first === undefined
    ? ""
    : `${first.tool} ${first.title}${others.length === 0 ? "" : ` and ${others.length} more`}`.trim()
}

/** What it does now, or why it does nothing; empty if there is nothing to say. */
export const activityOf = (
  { asks, calls, state }: Pick<AgentNode, "asks" | "calls" | "state">,
  { now, place, why = whyNot }: ActivityContext
): string => {
  const [ask] = asks.values()
  if (ask !== undefined) return `asks: ${ask}`
  switch (state.type) {
    case "settled": {
      const { outcome } = state
      return outcome.status === "completed" ? "" : `${outcome.status.replaceAll("_", " ")}: ${why(outcome)}`
    }
    case "idle":
      return endText(state.end)
    case "away":
    case "stuck":
      return heldText(state)
    case "interrupted":
      return "interrupted"
    case "queued":
      return place === undefined ? "queued" : `queued, place ${place}`
    case "retry":
      return `retry ${state.attempt} in ${formatDuration(state.next - now)}: ${state.message}`
    case "elsewhere":
      return callsText(calls) || elsewhereText(state)
    case "working":
      return callsText(calls) || (calls.size > 0 ? "waits for its subagents" : state.what)
  }
}

/** How long an agent has worked, without its time in queues, and how long it has queued, in milliseconds. */
export const timesOf = (
  { began, ended, queued, queuedSince }: Pick<AgentNode, "began" | "ended" | "queued" | "queuedSince">,
  now: number
): { readonly worked: number; readonly waited: number } => {
  const waited = queued + (queuedSince === undefined ? 0 : Math.max(0, now - queuedSince))
  return { waited, worked: Math.max(0, (ended ?? now) - began - waited) }
}
