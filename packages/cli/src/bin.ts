/** The program `skein`: parses the command line, and loads only what the command needs. */
import { isatty } from "node:tty"
import { commands } from "./Commands.ts"
import { session } from "./commands/run.ts"
import { parse } from "./internal/arguments.ts"
import { loadFailure } from "./internal/loadFailure.ts"
import { version } from "./internal/version.ts"

/** Tells the launcher that this run is one whose compiled code is worth keeping; the program as modules has no such thing. */
declare const __skeinPrompts: (() => void) | undefined

const stdinIsTerminal = isatty(0)
const parsed = parse(commands, process.argv.slice(2), {
  stdinIsTerminal,
  session: stdinIsTerminal && isatty(1) ? session : undefined
})

switch (parsed._tag) {
  case "Help":
    import("./internal/help.ts").then(({ helpOf }) => process.stdout.write(helpOf(commands, parsed.path, version)))
    break
  case "Mistake":
    import("@skein/tui/Escape").then(({ escapeText }) => process.stderr.write(`skein: ${escapeText(parsed.message)}\n`))
    process.exitCode = 2
    break
  case "Run":
    if ((parsed.command === commands[0] || parsed.command === session) && typeof __skeinPrompts !== "undefined") {
      __skeinPrompts()
    }
    Promise.all([import("./internal/launch.ts"), parsed.command.load()]).then(([{ launch }, execute]) =>
      launch(execute(parsed.input), {
        verbose: parsed.input.flags["verbose"] === true,
        json: parsed.input.flags["log-format"] === "json",
        unwatched: parsed.command.name === "serve"
      })
    ).catch((cause: unknown) => {
      process.stderr.write(`skein: ${loadFailure(cause)}\n`)
      process.exitCode = 1
    })
    break
}
