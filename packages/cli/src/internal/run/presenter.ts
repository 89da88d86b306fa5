/** Shows a run while it lasts and when it ends; each format has one. */
import type { Event } from "@skein/domain/Event"
import type { HookPayload } from "@skein/domain/Hook"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { PendingAsk } from "@skein/domain/TreeSnapshot"
import { escapeText } from "@skein/tui/Escape"
import type { Streams } from "../../Stdio.ts"
import type { RunResult } from "./result.ts"

/** Shows a run. Its functions are called one after the other, and never throw. */
export interface Presenter {
  /** Whether the pieces of growing text are among the events that it wants to hear. */
  readonly deltas: boolean
  /** The session is known, and the colours of the agents that have one; its events follow. */
  readonly begin: (session: SessionInfo, colors: ReadonlyMap<string, string>) => void
  /** Is called at once for each event of the tree. */
  readonly event: (event: Event) => void
  /** A question waits that was asked before the events began; absent where nobody can be asked. */
  readonly asked?: (ask: PendingAsk) => void
  /** Something that is worth knowing, and no error. */
  readonly note: (line: string) => void
  /** A hook runs; the line says for what. */
  readonly hook: (line: string, payload: HookPayload) => void
  /** The last call, also where the run never began. What `result.error` says is told by the caller. */
  readonly end: (result: RunResult) => void
}

/** What a person may choose on Ctrl-C, where a server could continue the turn. */
export interface LeavingChoice {
  readonly stop: () => void
  readonly leave: () => void
  /** Goes on watching. */
  readonly stay: () => void
}

/** Writes the answer: as it is for programs, without what a terminal would obey for people. */
export const writeAnswer = (stdio: Streams, { error, outcome, text }: RunResult): void => {
  // An answer that is stored nowhere is worth the more here.
  if (text === "" || (outcome === "failed" && error?.tag !== "gone") || outcome === "stopped") return
  stdio.out(`${stdio.isTerminal.output ? escapeText(text) : text}\n`)
}
