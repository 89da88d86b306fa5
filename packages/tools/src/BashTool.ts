/** The tool `bash`: runs a command line. */
import { type Positional, positional } from "@skein/core/Commands"
import { define, type Tool, type ToolContext } from "@skein/core/Tool"
import { millisecondsUpTo } from "@skein/domain/Milliseconds"
import { mayEdit } from "@skein/domain/Mode"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { environment } from "./Environment.ts"
import { confinedAsks, confinedHint, Grants, readsOnly } from "./internal/bash/confinedAsks.ts"
import { makeGitReplaces, makeTrackedNames } from "./internal/bash/gitFiles.ts"
import { makeRepositories } from "./internal/bash/repositories.ts"
import { refusal, refuse } from "./internal/refusal.ts"
import { Paths } from "./Paths.ts"
import { Shell } from "./Shell.ts"
import type { ShellCommand, ShellEnd } from "./ShellCommand.ts"
import { SpillFiles } from "./SpillFiles.ts"

/** How long a command may run, in milliseconds: by default, and at most. */
const timeouts = { usual: 120_000, maximum: 600_000 }

const description =
  `Runs bash in the working directory; gives both outputs and the exit code. No terminal, no input. What it leaves in the background ends with it. Of long output you see both ends, and a file with all of it. Prefer read, edit, glob, grep and list.
With a sandbox, most commands run without a question: they see the project (perhaps read-only), the system, toolchains, a lasting /tmp and home of their own, but no network or credentials. Do not ask before you try. Say in needs if a command must change files or use network or credentials; a person may be asked.`

const Parameters = Schema.Struct({
  command: Schema.NonEmptyString.annotations({ description: "The command line" }),
  timeout: Schema.optional(
    millisecondsUpTo(timeouts.maximum, "10 minutes").annotations({
      description: `When to kill it: milliseconds, or as "90s" (${timeouts.usual}; at most ${timeouts.maximum})`
    })
  ),
  description: Schema.optional(Schema.String.annotations({ description: "What it does, in 5 to 10 words" })),
  needs: Schema.optional(
    Schema.Array(Schema.Literal("write", "network", "credentials")).annotations({
      description: "Nothing by default; credentials are keys, tokens, the home"
    })
  )
})

/** The parameters of `bash`. */
export interface BashInput extends Schema.Schema.Type<typeof Parameters> {
  /** The positional arguments that a user's command passes to the line. */
  readonly [positional]?: Positional
}

/** How long a command may be, in bytes. Deciding on a longer one may take minutes, and none of 128 KiB can be started. */
const longestCommand = 32_000

/** How long an argument of a user's command may be, in bytes: Linux starts no program with one of 128 KiB. */
const longestWord = 100_000

const lengthProblem = (input: BashInput): string | undefined => {
  const length = Buffer.byteLength(input.command)
  if (length > longestCommand) {
    return `bash.command is ${length} bytes; the limit is ${longestCommand}. Write long text into a file with the tool write, and let a short command read that file; or split the command.`
  }
  return (input[positional]?.words ?? []).some((word) => Buffer.byteLength(word) > longestWord)
    ? `An argument is longer than ${longestWord} bytes, which no program can be started with. Put it into a file, and give its path.`
    : undefined
}

const titleOf = ({ command, description: told }: BashInput): string =>
  told === undefined || told.trim() === "" ? command.split("\n", 1).join("") : told

/** The call that needs permission, and whether everything that it does is known. */
const askedOf = (input: BashInput) => {
  const given = input[positional]
  if (given === undefined) return { call: input, known: true }
  const call = { ...input, command: given.shown }
  if (given.known) return { call, known: true }
  return { call: { ...call, description: `with the arguments ${JSON.stringify(given.words)}` }, known: false }
}

/** What a call may do, as far as its line tells. By the time it runs, this was approved. */
interface Decided extends Pick<ShellCommand, "approved" | "reached"> {
  /** Whether the whole line is known to only read. */
  readonly onlyReads: boolean
  readonly grants: Grants
}

/** How a call runs confined: by its approvals, and by the current rules and mode. */
const confinementOf = ({ approved = [], grants, onlyReads, reached = [] }: Decided, context: ToolContext) =>
  Effect.map(context.readAction, (action) => ({
    approved: approved.filter((path) => !grants.isLeft(path)),
    reached: reached.filter((path) => !grants.isLeft(path)),
    readOnly: context.readsOnly || onlyReads ||
      !(mayEdit(context.mode) || grants.isByRule || grants.has("write")),
    visible: grants.outside,
    ...(context.editing === undefined || context.deniesSome?.("edit") !== true ? {} : { edits: context.editing }),
    deniesReads: context.deniesSome?.("read") === true,
    reads: (path: string) => grants.mayRead(path) ? "allow" as const : action(path),
    network: grants.has("network"),
    credentials: grants.has("credentials")
  }))

/** Refuses a command that did not end normally, with its output so far. */
const refuseUnended = ({ exceeded, exit, lapsed, output, timedOut }: ShellEnd, timeout: number) => {
  const wrote = output === "" ? "It wrote nothing." : `Its output so far:\n${output}`
  if (timedOut) {
    return refuse("timeout", `The command ran longer than ${timeout} ms and was killed. ${wrote}`, { exit, timedOut })
  }
  if (lapsed === true) {
    const why =
      "The command was killed before it ended, because this server lost its lease on the session: it, or its database, was too slow."
    return refuse("lapsed", `${why} What it did until then remains: check that before you repeat it. ${wrote}`, {
      exit
    })
  }
  return exceeded === undefined
    ? Effect.void
    : refuse("exceeded", `The command was killed, because it used too much of the machine. ${exceeded} ${wrote}`, {
      exit
    })
}

/** Makes `bash`. */
export const makeBash: Effect.Effect<
  Tool<BashInput, Decided>,
  never,
  Paths | Shell | SpillFiles
> = Effect.gen(function*() {
  const shell = yield* Shell
  const spill = yield* SpillFiles
  const paths = yield* Paths
  // Loaded at first use, so that the program starts without a parser.
  const loaded = Effect.promise(() => import("./internal/bash/bashAsks.ts"))
  const variables = yield* environment
  const look = makeRepositories(variables)
  const tracked = makeTrackedNames(variables)
  const replaces = yield* makeGitReplaces(variables)

  return define<BashInput, Decided>({
    name: "bash",
    describe: description,
    parameters: Parameters,
    effect: "never",
    title: titleOf,
    authorise: Effect.fnUntraced(function*(input, caller) {
      if ([input.command, ...input[positional]?.words ?? []].some((text) => text.includes("\0"))) {
        return yield* refuse("invalid_arguments", "bash.command must not contain a NUL character. Leave it out.")
      }
      const tooLong = lengthProblem(input)
      if (tooLong !== undefined) return yield* refuse("invalid_arguments", tooLong)
      const { bashAsks } = yield* loaded
      const { call, known } = askedOf(input)
      const limits = yield* shell.limits
      const needed = yield* bashAsks({ paths, look, replaces, tracked, programPath: variables["PATH"] }, call, caller)
      const grants = new Grants()
      const asks = limits === undefined ? needed.asks : confinedAsks(needed.asks, input.needs ?? [], limits, grants)
      const isPrivate = (path: string) => limits?.isPrivate(path) === true
      const plan: Decided = {
        approved: needed.approved.filter((path) => !isPrivate(path)),
        reached: needed.reached.filter((path) => !isPrivate(path)),
        onlyReads: readsOnly(needed.asks),
        grants
      }
      return { asks: known ? asks : asks.map((ask) => ({ ...ask, always: [], unclear: true })), plan }
    }),
    execute: Effect.fnUntraced(function*(input, context, plan) {
      const timeout = input.timeout ?? timeouts.usual
      const limits = yield* shell.limits
      const confinement = yield* Effect.mapError(
        confinementOf(plan, context),
        ({ message }) => refusal("not_started", message)
      )
      const ended = yield* Effect.mapError(
        shell.run({
          command: input.command,
          words: input[positional]?.words ?? [],
          directory: context.directory,
          ...confinement,
          timeout,
          rootID: context.rootID,
          confirm: context.confirm,
          spill: spill.create(context.sessionID, `${context.partID}.out`),
          watch: (latest) => context.report({ metadata: { output: latest } })
        }),
        ({ message }) => refusal("not_started", message)
      )
      yield* refuseUnended(ended, timeout)
      const { exit, output, timedOut } = ended
      const hint = limits === undefined ? "" : confinedHint(limits, {
        exit,
        output,
        readOnly: confinement.readOnly,
        deniesEdits: context.readsOnly,
        has: (need) => need !== "write" && confinement[need]
      })
      const told = exit === 0
        ? (output === "" ? "(no output)" : output)
        : `${output}${output === "" || output.endsWith("\n") ? "" : "\n"}(exit code ${exit})${hint}`
      return { title: titleOf(input), output: told, metadata: { exit, timedOut } }
    })
  })
})
