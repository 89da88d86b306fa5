/** The program `skein`: parses the command line, and loads only what the command needs. */
import { isatty } from "node:tty"
import { commands, session } from "./Commands.ts"
import { parse, type Parsed } from "./internal/arguments.ts"
import { loadFailure } from "./internal/loadFailure.ts"
import { version } from "./internal/version.ts"

/** Tells the launcher that this run is one whose compiled code is worth keeping; the program as modules has no such thing. */
declare const __skeinPrompts: (() => void) | undefined

/** Effect reads a stack as it loads, and for the first one V8 counts the lines of the whole script: some 8 ms. */
const withoutStacks = <A>(load: () => Promise<A>): Promise<A> => {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  return load().finally(() => {
    Error.stackTraceLimit = stackTraceLimit
  })
}

const execute = (parsed: Parsed): unknown => {
  switch (parsed._tag) {
    case "Help":
      return import("./internal/help.ts").then(({ helpOf }) =>
        process.stdout.write(helpOf(commands, parsed.path, version))
      )
    case "Mistake":
      process.exitCode = 2
      return import("@skein/tui/Escape").then(({ escapeText }) =>
        process.stderr.write(`skein: ${escapeText(parsed.message)}\n`)
      )
    case "Run": {
      const { command: { load, name }, input } = parsed
      if ((name === "run" || name === "session") && typeof __skeinPrompts !== "undefined") __skeinPrompts()
      return withoutStacks(() => Promise.all([import("./internal/launch.ts"), load()])).then(([{ launch }, run]) =>
        launch(run(input), {
          database: typeof input.flags["db"] === "string" ? input.flags["db"] : undefined,
          verbose: input.flags["verbose"] === true,
          json: input.flags["log-format"] === "json",
          unwatched: name === "serve"
        })
      )
    }
  }
}

const stdinIsTerminal = isatty(0)

parse(commands, process.argv.slice(2), {
  stdinIsTerminal,
  session: stdinIsTerminal && isatty(1) ? session : undefined
}).then(execute).catch((cause: unknown) => {
  process.stderr.write(`skein: ${loadFailure(cause)}\n`)
  process.exitCode = 1
})
