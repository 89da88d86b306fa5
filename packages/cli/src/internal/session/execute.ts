/** What `skein` does on a terminal: opens a session, and says how to come back to it. */
import * as LocalBackend from "@skein/backend/LocalBackend"
import { formatIssue } from "@skein/config/ConfigError"
import { summarise } from "@skein/config/Notes"
import * as Trust from "@skein/config/Trust"
import { SessionStorage } from "@skein/core/SessionStorage"
import { formatRef } from "@skein/domain/Model"
import { keyNames } from "@skein/provider/DefaultModel"
import { confirm } from "@skein/tui/Confirm"
import type { Reflow } from "@skein/tui/Screen"
import type { SessionTerminal } from "@skein/tui/SessionHost"
import { coloured, colourless } from "@skein/tui/Style"
import { openSession } from "@skein/tui/TerminalSession"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { CommandError, Input } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio, type Streams } from "../../Stdio.ts"
import { Stop } from "../../Stop.ts"
import { UsageError } from "../../UsageError.ts"
import { manyServices, platform, settle, storage } from "../app.ts"
import { valueOf } from "../flagValues.ts"
import { sessionOf } from "../ids.ts"
import { checkDirectory, directoryOf, projectOf } from "../place.ts"
import { fallback } from "../providers.ts"
import { runFlags } from "../run/flags.ts"
import { typedMode } from "../run/mode.ts"
import { readModel } from "../run/models.ts"
import type { sessionFlags } from "./flags.ts"
import { makeHost } from "./host.ts"

type SessionInput = Input<typeof sessionFlags>

const variable = (name: string) =>
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
    waiting: stdio.waiting,
    style: noColour === "" ? coloured : colourless,
    reflow
  } satisfies SessionTerminal
})

const branchOf = (directory: string): string | undefined =>
  Option.getOrUndefined(Option.flatMap(
    Option.liftThrowable(() => readFileSync(join(directory, ".git", "HEAD"), "utf8"))(),
    (head) => Option.fromNullable(/^ref: refs\/heads\/(.+)$/m.exec(head)?.[1])
  ))

/** Asks whether to trust what a project's files want beyond what the person grants; false where the person leaves. */
const askTrust = Effect.fnUntraced(function*(directory: string, terminal: SessionTerminal) {
  const items = yield* Trust.review(directory)
  const open = items.filter(({ state }) => state === "untrusted" || state === "changed")
  if (open.length === 0) return true
  const answer = yield* confirm(
    terminal,
    `Do you trust ${open.length === 1 ? "this value" : `these ${open.length} values`} of the project's files?`,
    [
      "Files of this project want more than you have granted:",
      ...open.map(({ file, key, value }) => `${key} = ${JSON.stringify(value)}  (${file})`),
      ""
    ],
    [
      { value: "no", label: "No, work without them" },
      { value: "yes", label: "Yes, trust them until they change" },
      { value: "leave", label: "Leave" }
    ]
  )
  if (answer === "yes") yield* Trust.allow(directory, open.map(({ id }) => id))
  return answer === "yes" || answer === "no"
})

/** The session that the flags name, and where it works. */
const findSession = Effect.fnUntraced(function*({ flags }: SessionInput) {
  if (flags.session !== undefined) {
    const session = yield* sessionOf(flags.session)
    yield* checkDirectory(session.directory, `${session.id} works in a directory that cannot be used: `)
    return { session: session.id, directory: session.directory }
  }
  const directory = yield* directoryOf(flags.dir)
  if (!flags.continue) return { session: undefined, directory }
  const store = yield* SessionStorage
  const { rows: [newest] } = yield* store.sessions({ projectID: yield* projectOf(directory), roots: true, limit: 1 })
  if (newest === undefined) {
    return yield* new UsageError({
      message: "There is no session here to continue. Leave --continue out to begin one."
    })
  }
  return { session: newest.id, directory: newest.directory }
})

/** Said where no key is set. */
const noKey = [
  `No key of a model is set, so ${formatRef(fallback)} answers: it surveys the project offline, and is no AI.`,
  `For a model, leave this session, set one of ${keyNames.join(", ")}, and begin again.`,
  "A model of your own machine works without a key: see `skein models` and docs/models.md."
].join("\n")

const notesOf = Effect.fnUntraced(function*(directory: string) {
  const { warnings } = yield* settle(directory)
  const { line, loud } = summarise(warnings, true)
  return [...loud.map(formatIssue), ...(line === undefined ? [] : [line])]
})

/** Where a terminal can only print one line below the other, a prompt is run, and there is no session to open. */
const runInstead = ({ flags, operands }: SessionInput) =>
  Effect.gen(function*() {
    const defaults = Object.entries(runFlags).map(([name, flag]) => [name, valueOf(flag, [])])
    const { executeRun } = yield* Effect.promise(() => import("../run/execute.ts"))
    const { resume: _, ...given } = flags
    return yield* executeRun({ operands, flags: { ...Object.fromEntries(defaults), ...given } })
  })

/** Opens a session. */
export const executeSession = (input: SessionInput): Effect.Effect<number, CommandError, Stdio | Stop> =>
  Effect.scoped(Effect.gen(function*() {
    const { flags, operands } = input
    const stdio = yield* Stdio
    if ((yield* variable("TERM")) === "dumb") return yield* runInstead(input)
    const mode = yield* typedMode(flags)
    const model = yield* readModel(flags.model)
    const terminal = yield* terminalOf(stdio)
    const foundation = yield* Layer.build(Layer.provideMerge(storage, platform({ database: flags.db })))
    return yield* Effect.gen(function*() {
      const { directory, session } = yield* findSession(input)
      if (!(yield* askTrust(directory, terminal))) return ExitCode.done
      const backend = yield* Layer.build(Layer.provide(LocalBackend.layer({ projectOf }), manyServices("person")))
      const host = yield* makeHost
      yield* Effect.forkScoped(
        Effect.flatMap(Effect.promise(() => import("../prune/daily.ts")), ({ forgetDaily }) => forgetDaily)
      )
      const left = yield* Effect.scoped(Effect.provide(
        openSession(terminal, host, {
          directory,
          branch: branchOf(directory),
          session,
          picks: flags.resume,
          prompt: operands.join(" "),
          mode,
          agent: flags.agent,
          model,
          notes: yield* notesOf(directory),
          fallback: { model: formatRef(fallback), note: noKey }
        }),
        backend
      ))
      if (left.session !== undefined) {
        stdio.err(terminal.style.dim(`session ${left.session}, continue with: skein --session ${left.session}`))
      }
      return ExitCode.done
    }).pipe(Effect.provide(foundation))
  }))
