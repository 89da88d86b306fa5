/** Decides what a session knows about its terminal. */
import type { Reflow } from "@skein/tui/Screen"
import type { SessionTerminal } from "@skein/tui/SessionHost"
import { coloured, colourless } from "@skein/tui/Style"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Streams } from "../../Stdio.ts"
import { UsageError } from "../../UsageError.ts"

/** A variable of the environment; empty where it is not set. */
export const variable = (name: string): Effect.Effect<string> =>
  Effect.map(
    Effect.orElseSucceed(Config.option(Config.string(name)), () => Option.none<string>()),
    Option.getOrElse(() => "")
  )

/** What is known of the terminal. */
export const terminalOf = Effect.fnUntraced(function*(stdio: Streams) {
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
