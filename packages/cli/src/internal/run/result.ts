/** Decides the result of a run: its outcome, and the matching exit code. */
import type { Turn } from "@skein/backend/Sessions"
import type { RunID, SessionID } from "@skein/domain/Id"
import { type FinishReason, stepLimitOf } from "@skein/domain/Message"
import { none, type Usage } from "@skein/domain/Usage"
import { ExitCode } from "../../ExitCode.ts"
import type { StopReason } from "../../Stop.ts"
import type { Explained } from "../explain.ts"

/** A background task that the run has left. */
export interface InterruptedTask {
  readonly task_id: SessionID
  readonly run_id: RunID
  readonly agent: string
  readonly description: string
}

/** The result of a run. */
export interface RunResult {
  readonly type: "result"
  readonly sessionID?: SessionID
  /** The answer, or as much of it as there was. */
  readonly text: string
  readonly finish?: FinishReason
  readonly outcome: "completed" | "empty" | "failed" | "stopped" | "timed_out" | "budget_exhausted" | "denied" | "left"
  readonly usage: Usage
  readonly exitCode: number
  /** `false` if the database is gone, with what was stored in it, or if the session was deleted meanwhile. */
  readonly stored?: false
  /** `false` if the run was stopped, and the server did not confirm the stop in time. */
  readonly confirmed?: false
  /** The tasks that --no-wait interrupted. */
  readonly interrupted?: ReadonlyArray<InterruptedTask>
  /** The background tasks that continue on a server. */
  readonly continuing?: ReadonlyArray<InterruptedTask>
  /** How many progress events were skipped because the reader was too slow. */
  readonly leftOut?: number
  readonly error?: {
    readonly tag: string
    readonly message: string
    /** The exhausted budget: `tokens`, `usd`, `steps` or `time`. */
    readonly which?: string
  }
}

/** What is known about a run without an answer. */
export interface Unfinished {
  readonly sessionID?: SessionID
  readonly text: string
  /** Why the model ended its last answer, if it did. */
  readonly finish?: FinishReason
  readonly usage: Usage
}

/** Nothing is known. */
export const nothing: Unfinished = { text: "", usage: none }

/** Whether a hook ended the turn, rather than a rule or a person. */
const endedByHook = ({ parts }: Turn): boolean =>
  parts.some((part) =>
    part.type === "tool" && part.state.status !== "pending" && part.state.metadata?.["endsTurn"] === true
    && part.state.metadata["permission"] === undefined
  )

/**
 * The result of a turn. `denials` counts the denied requests of the whole tree, including those that nobody could
 * answer.
 */
export const ofTurn = (turn: Turn, denials: number): RunResult => {
  const { info, sessionID, text, usage } = turn
  const base = {
    type: "result",
    sessionID,
    text,
    ...(info.finish === undefined ? {} : { finish: info.finish }),
    usage
  } as const
  if (turn.end === "steps") {
    return {
      ...base,
      outcome: "budget_exhausted",
      exitCode: ExitCode.limit,
      error: {
        tag: "steps",
        message: `${stepLimitOf(info)} The answer is what it had so far. --max-steps sets another limit.`
      }
    }
  }
  if (turn.end === "denied") {
    return {
      ...base,
      outcome: "denied",
      exitCode: ExitCode.denied,
      error: endedByHook(turn)
        ? { tag: "hook", message: "A hook ended the turn." }
        : { tag: "denied", message: "The turn ended because a call was not permitted." }
    }
  }
  if (text === "") {
    return {
      ...base,
      outcome: "empty",
      exitCode: ExitCode.failed,
      error: {
        tag: "empty",
        message: `The model ended without an answer (${info.finish ?? "no reason given"}). Try again.`
      }
    }
  }
  return { ...base, outcome: "completed", exitCode: denials > 0 ? ExitCode.denied : ExitCode.done }
}

/** The result of a run whose database is gone. There may be an answer, but nothing to continue. */
export const unstored = (result: RunResult, { message }: { readonly message: string }): RunResult => ({
  ...result,
  ...(result.exitCode === ExitCode.done || result.outcome === "completed"
    ? { outcome: "failed", exitCode: ExitCode.failed }
    : {}),
  stored: false,
  error: result.error === undefined || result.error.tag === "gone"
    ? { tag: "gone", message }
    : { tag: result.error.tag, message: `${result.error.message} ${message}` }
})

/** The result of a run whose session somebody has deleted: there is nothing to continue. */
export const deleted = (result: RunResult): RunResult => ({
  ...result,
  stored: false,
  error: {
    tag: "SessionNotFound",
    message: `The session ${result.sessionID} was deleted during the run, with all that was said in it.`
  }
})

/** The result of a run whose stop its server did not confirm. */
export const unconfirmed = (result: RunResult): RunResult =>
  result.error === undefined ? result : {
    ...result,
    confirmed: false,
    error: {
      tag: result.error.tag,
      message: `${result.error.message} The stop was not confirmed in time: the turn may continue.`
    }
  }

/** The result of a run that its user left running on a server. */
export const ofLeaving = (known: Unfinished, { exitCode }: StopReason, url: string): RunResult => ({
  type: "result",
  ...known,
  outcome: "left",
  exitCode,
  error: { tag: "left", message: `The turn continues on the server at ${url}.` }
})

/** The result of a run that took too long. */
export const ofTimeout = (known: Unfinished, shown: string): RunResult => ({
  type: "result",
  ...known,
  outcome: "timed_out",
  exitCode: ExitCode.limit,
  error: { tag: "timeout", message: `The run took longer than ${shown} (--timeout), and was stopped.` }
})

/** The result of a run that was stopped. */
export const ofStop = (known: Unfinished, { exitCode, message }: StopReason): RunResult => ({
  type: "result",
  ...known,
  outcome: "stopped",
  exitCode,
  error: { tag: "stopped", message }
})

/** The result of a run that failed, for example with an exhausted budget. */
export const ofError = (known: Unfinished, { exitCode, message, tag, which }: Explained): RunResult => ({
  type: "result",
  ...known,
  outcome: tag === "BudgetExhausted"
    ? "budget_exhausted"
    : tag === "HookRefused" || tag === "PermissionDenied"
    ? "denied"
    : "failed",
  exitCode,
  error: { tag, message, ...(which === undefined ? {} : { which }) }
})
