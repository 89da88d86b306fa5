/** Decides how a person sits at a session: before a terminal that is drawn on, or one that only prints and reads lines. */
import type { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import { confirm } from "@skein/tui/Confirm"
import { confirmPlain, type LineTerminal, openPlainSession } from "@skein/tui/PlainSession"
import type { Reflow } from "@skein/tui/Screen"
import type { SessionHost, SessionLeft, SessionRequest, SessionTerminal } from "@skein/tui/SessionHost"
import { coloured, colourless } from "@skein/tui/Style"
import { openSession } from "@skein/tui/TerminalSession"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { UsageError } from "../../ExitCode.ts"
import type { Streams } from "../../Stdio.ts"
import { Stop } from "../../Stop.ts"

/** A variable of the environment; empty where it is not set. */
export const variable = (name: string): Effect.Effect<string> =>
  Effect.map(
    Effect.orElseSucceed(Config.option(Config.string(name)), () => Option.none<string>()),
    Option.getOrElse(() => "")
  )

/** What is known of the terminal. */
const terminalOf = Effect.fnUntraced(function*(stdio: Streams) {
  const keyboard = stdio.keyboard()
  if (keyboard === undefined) return yield* new UsageError({ message: "There is no keyboard. Use `skein run`." })
  const noColour = yield* variable("NO_COLOR")
  const program = yield* variable("TERM_PROGRAM")
  const isOldXterm = (yield* variable("XTERM_VERSION")) !== "" || (yield* variable("TERM")) === "linux"
  const reflow: Reflow = program === "vscode" ? "xtermJs" : isOldXterm ? "none" : "all"
  return {
    keyboard,
    write: stdio.out,
    size: stdio.size,
    onResize: stdio.onResize,
    onLine: stdio.divert,
    waiting: stdio.waiting,
    style: noColour === "" ? coloured : colourless,
    reflow
  } satisfies SessionTerminal
})

/** Where a person sits. */
export interface Seat {
  /** Asks one question, before anything else is there; undefined where nobody answers. */
  readonly ask: (
    title: string,
    about: ReadonlyArray<string>,
    items: ReadonlyArray<{ readonly value: string; readonly label: string }>
  ) => Effect.Effect<string | undefined>
  readonly open: (
    host: SessionHost,
    asked: SessionRequest
  ) => Effect.Effect<SessionLeft, BackendError, Backend | Scope.Scope>
  /** A line that is less important than others. */
  readonly dim: (line: string) => string
}

/** A terminal of lines; Ctrl+C is a signal. */
const linesOf = (stdio: Streams, stop: typeof Stop.Service): LineTerminal => ({
  input: stdio.input(),
  write: stdio.out,
  onInterrupt: (listener) =>
    stop.onSignal((by) => {
      if (by === "SIGINT") listener()
      return by === "SIGINT"
    })
})

/** The seat at these streams. */
export const seatOf = Effect.fnUntraced(function*(stdio: Streams, isPlain: boolean) {
  if (isPlain) {
    const lines = linesOf(stdio, yield* Stop)
    return {
      ask: (title, about, items) => confirmPlain(lines, title, about, items),
      open: (host, asked) => openPlainSession(lines, host, asked),
      dim: (line) => line
    } satisfies Seat
  }
  const terminal = yield* terminalOf(stdio)
  return {
    ask: (title, about, items) => confirm(terminal, title, about, items),
    open: (host, asked) => openSession(terminal, host, asked),
    dim: terminal.style.dim
  } satisfies Seat
})
