/** Shows the progress and the end of a run. Each format implements it. */
import type { Backend } from "@skein/backend/Backend"
import type { Event } from "@skein/domain/Event"
import type { HookPayload } from "@skein/domain/Hook"
import type { TaskRun } from "@skein/domain/Outcome"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { PendingAsk } from "@skein/domain/TreeSnapshot"
import { escapeText } from "@skein/tui/Escape"
import type * as Effect from "effect/Effect"
import type { Scope } from "effect/Scope"
import type { Streams } from "../../Stdio.ts"
import type { RunResult } from "./result.ts"

/** Shows a run. Its functions are called one after the other, and never throw. */
export interface Presenter {
  /** Whether it wants the deltas of growing text. */
  readonly deltas: boolean
  /** The session is known, the colours of agents that have one, and the runs that continue. The session's events follow. */
  readonly begin: (
    session: SessionInfo,
    colors: ReadonlyMap<string, string>,
    continued: ReadonlyArray<TaskRun>
  ) => void
  /** Called immediately for each event of the tree. */
  readonly event: (event: Event) => void
  /** A question was already pending when the events began. Absent if Skein cannot ask anyone. */
  readonly asked?: (ask: PendingAsk) => void
  /** Something worth knowing that is not an error. */
  readonly note: (line: string) => void
  /** A hook runs. The line says for what. */
  readonly hook: (line: string, payload: HookPayload) => void
  /** The last call, even if the run never began. The caller reports `result.error`. */
  readonly end: (result: RunResult) => void
}

/** What a person may choose on Ctrl-C if a server could continue the turn. */
export interface LeavingChoice {
  readonly stop: () => void
  readonly leave: () => void
  /** Keeps watching. */
  readonly stay: () => void
}

/** How a run is shown. */
export interface Shown {
  readonly presenter: Presenter
  /** Work in parallel with the run, until the scope closes. */
  readonly attend: Effect.Effect<void, never, Backend | Scope>
  /** Whether a person can be asked. */
  readonly canAsk: boolean
  /** Asks whether to stop the turn or leave it running, and calls the choice. Absent if Skein cannot ask anyone. */
  readonly askLeaving?: (choose: LeavingChoice) => void
  /** Calls a function when the keyboard is closed, instead of denying open requests. Absent if there is no keyboard. */
  readonly whenClosed?: (leave: () => void) => void
}

/** Writes the answer: unchanged for programs, without control sequences on a terminal. */
export const writeAnswer = (stdio: Streams, { error, outcome, text }: RunResult): void => {
  // If nothing could be stored, this output is the only copy of the answer.
  if (text === "" || (outcome === "failed" && error?.tag !== "gone") || outcome === "stopped") return
  stdio.out(`${stdio.isTerminal.output ? escapeText(text) : text}\n`)
}

/** Makes the presenter. */
export const quiet = (stdio: Streams): Presenter => ({
  deltas: false,
  begin: () => undefined,
  event: () => undefined,
  note: () => undefined,
  hook: () => undefined,
  end: (result) => writeAnswer(stdio, result)
})

/** Makes the presenter. */
export const json = (stdio: Streams): Presenter => {
  const write = (value: unknown) => stdio.out(`${JSON.stringify(value)}\n`)
  return {
    deltas: true,
    begin: () => undefined,
    event: write,
    note: () => undefined,
    hook: () => undefined,
    end: write
  }
}
