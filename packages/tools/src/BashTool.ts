/** The tool `bash`: runs a command line. */
import { readOnlyBash } from "@skein/core/Agent"
import { evaluate } from "@skein/core/Ruleset"
import { type Positional, positional } from "@skein/core/ShellLine"
import { define, type PermissionAsk, type Tool } from "@skein/core/Tool"
import { millisecondsUpTo } from "@skein/domain/Milliseconds"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { environment } from "./Environment.ts"
import { makeRepositories } from "./internal/bash/repository.ts"
import { refusal, refuse } from "./internal/refusal.ts"
import { Paths } from "./Paths.ts"
import type { SandboxLimits } from "./SandboxPlace.ts"
import { Shell } from "./Shell.ts"
import type { ShellCommand } from "./ShellCommand.ts"
import { SpillFiles } from "./SpillFiles.ts"

/** Milliseconds that a command may run: when it does not say, and at most. */
const timeouts = { usual: 120_000, maximum: 600_000 }

const description =
  `Runs a command with bash in the working directory and gives what it writes to both its outputs, and its exit code.
It has no terminal and no input. What it leaves in the background is ended with it. Of a long output beginning and end are shown;
all of it is kept in a file that is named then. Prefer read, edit, glob, grep and list for what they do.`

const Parameters = Schema.Struct({
  command: Schema.NonEmptyString.annotations({ description: "The command line" }),
  timeout: Schema.optional(
    millisecondsUpTo(timeouts.maximum, "10 minutes").annotations({
      description:
        `When it is killed, in milliseconds or as "90s" (${timeouts.usual} if left out, at most ${timeouts.maximum})`
    })
  ),
  description: Schema.optional(Schema.String.annotations({ description: "What it does, in 5 to 10 words" }))
})

/** What `bash` is asked. */
export interface BashInput extends Schema.Schema.Type<typeof Parameters> {
  /** What a command of the user hands to its line. */
  readonly [positional]?: Positional
}

const titleOf = ({ command, description: told }: BashInput): string =>
  told === undefined || told.trim() === "" ? command.split("\n", 1).join("") : told

/** The call that permission is asked for, and whether all that it does is known. */
const askedOf = (input: BashInput) => {
  const given = input[positional]
  if (given === undefined) return { call: input, known: true }
  const call = { ...input, command: given.shown }
  if (given.known) return { call, known: true }
  return { call: { ...call, description: `with the arguments ${JSON.stringify(given.words)}` }, known: false }
}

/** What may be why a command failed: a model that does not know of the sandbox looks for the reason elsewhere. */
const limitsText = (limits: SandboxLimits | undefined, readsOnly: boolean): string =>
  limits === undefined
    ? ""
    : `, in a sandbox${limits.network ? "" : " without a network"}, where ${
      readsOnly ? "no file" : "nothing but this directory"
    } can be changed`

/** Whether all of a line is known to read. A tree that it may only read shows no names that are kept free in it. */
const onlyReads = (asks: ReadonlyArray<PermissionAsk>): boolean =>
  asks.every(({ exact, patterns, permission, reads = [], unclear }) =>
    permission === "bash"
      ? unclear !== true && patterns.every((pattern) =>
        exact?.includes(pattern) !== true &&
        evaluate(readOnlyBash, "bash", pattern, undefined, reads.includes(pattern)) === "allow"
      )
      : permission !== "edit"
  )

/** Makes `bash`. */
export const makeBash: Effect.Effect<
  Tool<BashInput>,
  never,
  Paths | Shell | SpillFiles
> = Effect.gen(function*() {
  const shell = yield* Shell
  const spill = yield* SpillFiles
  const paths = yield* Paths
  // What the calls are going to change as far as their lines say; when they are made, somebody has consented to that.
  const changes = new WeakMap<BashInput, Pick<ShellCommand, "approved" | "reached">>()
  const reading = new WeakMap<BashInput, boolean>()
  // Loaded at first use: the program starts without a parser.
  const loaded = Effect.promise(() => import("./internal/bash/bashAsks.ts"))
  const look = makeRepositories(yield* environment)

  return define<BashInput>({
    name: "bash",
    describe: description,
    parameters: Parameters,
    effect: "never",
    title: titleOf,
    authorise: Effect.fnUntraced(function*(input, caller) {
      if ([input.command, ...input[positional]?.words ?? []].some((text) => text.includes("\0"))) {
        return yield* refuse("invalid_arguments", "bash.command must not contain a NUL character. Leave it out.")
      }
      const { bashAsks } = yield* loaded
      const { call, known } = askedOf(input)
      const confined = (yield* shell.limits) !== undefined
      const needed = yield* bashAsks({ paths, look }, call, caller)
      const asks = needed.asks.map((ask) => confined && ask.permission === "bash" ? { ...ask, confined } : ask)
      changes.set(input, { approved: needed.approved, reached: needed.reached })
      reading.set(input, onlyReads(asks))
      return known ? asks : asks.map((ask) => ({ ...ask, always: [], unclear: true }))
    }),
    execute: Effect.fnUntraced(function*(input, context) {
      const timeout = input.timeout ?? timeouts.usual
      const { exit, output, timedOut } = yield* Effect.mapError(
        shell.run({
          command: input.command,
          words: input[positional]?.words ?? [],
          directory: context.directory,
          ...changes.get(input),
          readOnly: context.readsOnly || reading.get(input) === true,
          timeout,
          spill: spill.create(context.sessionID, `${context.partID}.out`),
          watch: (latest) => context.report({ metadata: { output: latest } })
        }),
        ({ message }) => refusal("not_started", message)
      )
      if (timedOut) {
        return yield* refuse(
          "timeout",
          `The command ran longer than ${timeout} ms and was killed. ${
            output === "" ? "It wrote nothing." : `Its output so far:\n${output}`
          }`,
          { exit, timedOut }
        )
      }
      const told = exit === 0
        ? (output === "" ? "(no output)" : output)
        : `${output}${output === "" || output.endsWith("\n") ? "" : "\n"}(exit code ${exit}${
          limitsText(yield* shell.limits, context.readsOnly)
        })`
      return { title: titleOf(input), output: told, metadata: { exit, timedOut } }
    })
  })
})
