/** Decides the result of a task's run: how it ended, and its conclusion. */
import { earliest, type MessageID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import { stepLimitOf } from "@skein/domain/Message"
import type { Outcome, TaskRun } from "@skein/domain/Outcome"
import type { SessionTurn } from "@skein/domain/SessionInfo"
import { none, type Usage } from "@skein/domain/Usage"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { IsolationRefused } from "../../Isolation.ts"
import type { BudgetExhausted, PromptError, Turn } from "../../Turn.ts"
import { conclusion } from "../conversation/makePrompt.ts"
import { saidFrom } from "../conversation/saidNow.ts"
import type { Live } from "../live/Live.ts"
import { cutAnswer } from "../prompts.ts"

/** The end of a run, without its id, text and numbers. */
export type End =
  | { readonly status: "completed" }
  | { readonly status: "empty"; readonly finish: Extract<Outcome, { status: "empty" }>["finish"] }
  | {
    readonly status: "failed"
    readonly error: { readonly tag: string; readonly message: string }
    /** The last answer that did not match the schema. */
    readonly text?: string
  }
  | { readonly status: "stopped"; readonly by: string }
  | { readonly status: "timed_out"; readonly which: "timeout" | "idle"; readonly after: number }
  | { readonly status: "budget_exhausted"; readonly which: BudgetExhausted["which"]; readonly message?: string }
  | { readonly status: "denied"; readonly permission: string }
  | { readonly status: "lost"; readonly reason?: string }

/** The end of a run whose subagent ended its turn. */
export const endOfTurn = (turn: Turn): End => {
  if (turn.end === "steps") return { status: "budget_exhausted", which: "steps", message: stepLimitOf(turn.info) }
  if (turn.end === "denied") return endOfDenied(turn)
  return turn.text === "" ? { status: "empty", finish: turn.info.finish ?? "other" } : { status: "completed" }
}

/** Why a turn was denied: a person's rejection, or a loop that nobody allowed. */
const endOfDenied = (turn: Turn): End => {
  const errors = turn.parts.flatMap((part) => part.type === "tool" && part.state.status === "error" ? [part.state] : [])
  const rejected = errors.find((state) => state.metadata?.["by"] === "rejected")
  if (rejected !== undefined) return { status: "denied", permission: String(rejected.metadata?.["permission"]) }
  const hook = turn.parts.find((part) =>
    part.type === "tool" && part.state.status !== "pending" && part.state.metadata?.["endsTurn"] === true
    && (part.state.status !== "error" || part.state.metadata["permission"] === undefined)
  )
  if (hook !== undefined) return { status: "failed", error: { tag: "hook", message: "A hook has ended the turn." } }
  const loop = errors.find((state) => state.metadata?.["permission"] === "doom_loop")
  return {
    status: "failed",
    error: { tag: "doom_loop", message: loop?.error.message ?? "The subagent repeated itself." }
  }
}

/** The end of a run whose last turn ended before a crash, and that had not settled. */
export const endOfStored = (live: Live, turn: SessionTurn | undefined): End => {
  const ended = turn?.ended
  const last = live.messages?.findLast(({ info }) => info.role === "assistant")
  if (ended === undefined || last?.info.role !== "assistant") return { status: "lost" }
  const { error, how, which } = ended
  if (how === "stopped") return stoppedFromOutside()
  if (how !== "failed") {
    const { info, parts } = last
    const text = conclusion(parts)
    return endOfTurn({ sessionID: live.info.id, info, parts, text, end: how, usage: live.info.usage.subtree })
  }
  if (which !== undefined) return { status: "budget_exhausted", which }
  if (error?.tag === "empty_response") return { status: "empty", finish: last.info.finish ?? "other" }
  return { status: "failed", error: error ?? { tag: "unknown", message: "The task failed before a crash." } }
}

/** The end of a run without a place to work. */
export const isolationFailed = ({ message }: IsolationRefused): Effect.Effect<End> =>
  Effect.succeed({ status: "failed", error: { tag: "isolation", message } })

/** The end of a run whose session was stopped, even before it began. */
export const stoppedFromOutside = (by = "a stop of its session"): End => ({ status: "stopped", by })

const endOfError = (error: PromptError, stoppedBy: string | undefined): End => {
  if (error._tag === "SessionStopped") return stoppedFromOutside(stoppedBy)
  if (error._tag === "BudgetExhausted") {
    const { amount, which } = error
    return { status: "budget_exhausted", which, message: `The budget of ${amount} is exhausted.` }
  }
  if (error._tag === "ModelError" && error.reason === "empty_response") {
    return { status: "empty", finish: error.finish ?? "other" }
  }
  return {
    status: "failed",
    error: { tag: error._tag === "ModelError" ? error.reason : error._tag, message: error.message },
    ...(error._tag === "OutputInvalid" ? { text: error.last } : {})
  }
}

/** The end of a run, however its work ended; `stopped` if its session was stopped meanwhile. */
export const endOf = (
  exit: Exit.Exit<End, PromptError>,
  { by, stopped }: { readonly stopped: boolean; readonly by?: string | undefined } = { stopped: false }
): End => {
  if (Exit.isSuccess(exit)) return exit.value
  if (Cause.isInterruptedOnly(exit.cause)) {
    return stopped ? stoppedFromOutside(by) : { status: "stopped", by: "its caller" }
  }
  const failure = Cause.failureOption(exit.cause)
  if (failure._tag === "Some") return endOfError(failure.value, by)
  const defect = Cause.squash(exit.cause)
  return {
    status: "failed",
    error: { tag: "defect", message: defect instanceof Error ? defect.message : String(defect) }
  }
}

/** The state of a session when one of its runs began. */
export interface Start {
  /** An id between the messages before the run and those of the run. */
  readonly mark: MessageID
  readonly usage: Usage
}

/** The start of a run that another process began. */
export const startOf = ({ before, time }: TaskRun): Start => ({
  mark: earliest("msg", time.started ?? time.created),
  usage: before ?? none
})

/** Whether an unread row is a prompt of this run. Those of earlier runs became notes when these settled. */
export const isPromptOf = ({ time }: TaskRun, row: InboxRow): boolean =>
  row.kind === "prompt" && row.from === "agent" && row.time.created >= time.created

/** The last thing that a subagent said in this run. */
export const lastWords = ({ messages = [] }: Live, { mark }: Start): string => {
  const from = messages.findIndex(({ info }) => info.id >= mark)
  return from < 0 ? "" : saidFrom(messages, from, conclusion)
}

const cuts: Readonly<Record<string, string>> = { length: "its output limit", "content-filter": "a content filter" }

/** The conclusion of a subagent that completed its run, marked if its last answer was cut off. */
export const wholeWords = (live: Live, start: Start): string => {
  const words = lastWords(live, start)
  const last = live.messages?.findLast(({ info }) => info.role === "assistant")?.info
  const by = last?.role === "assistant" ? cuts[last.finish ?? ""] : undefined
  return by === undefined || words === "" ? words : `${words}\n\n${cutAnswer(by)}`
}
