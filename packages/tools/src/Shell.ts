/** Owns how a command line is run: what it may see, how long, how much of its output is kept, and that nothing is left of it. */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { shellEnvironment } from "./internal/shellEnvironment.ts"
import { Processes } from "./Processes.ts"
import { Sandbox, type SandboxLimits } from "./Sandbox.ts"

/** A command line could not be started at all. */
export class ShellError extends Schema.TaggedError<ShellError>()("ShellError", { message: Schema.String }) {}

/** What to run. */
export interface ShellCommand {
  readonly command: string
  /** What it knows as `$1`, `$2` and so on. */
  readonly words?: ReadonlyArray<string>
  /** The directory to run it in, absolute. */
  readonly directory: string
  /** What it may change besides what is in that directory, and of what is protected there; absolute. */
  readonly approved?: ReadonlyArray<string>
  /** What outside of that directory it may also remove, move, or put something in the place of; absolute. */
  readonly reached?: ReadonlyArray<string>
  /** Whether it may change nothing in that directory, as far as commands can be kept from it here. */
  readonly readOnly?: boolean
  readonly timeout: Duration.DurationInput
  /** Makes the file that keeps the output when it is too long to be shown whole. */
  readonly spill: Effect.Effect<string, PlatformError>
  /** Told the last lines while it runs, at most ten times a second. */
  readonly watch: (latest: string) => Effect.Effect<void>
}

/** How a command ended. */
export interface ShellEnd {
  /** The exit code; 128 and the number of the signal where a signal ended it, as shells count. */
  readonly exit: number
  readonly timedOut: boolean
  /** What it wrote to both its outputs, in order; beginning and end where that is much. */
  readonly output: string
}

/** Runs command lines. */
export class Shell extends Context.Tag("@skein/tools/Shell")<Shell, {
  /**
   * Runs a command line to its end, its timeout, or interruption. Then all processes that it has started are ended too,
   * also those that have left its group, where there is /proc, and unless they have cleared their environment as well; a
   * process that ignores requests to end is killed after a second.
   */
  readonly run: (command: ShellCommand) => Effect.Effect<ShellEnd, ShellError>
  /** How the sandbox confines commands, where there is one: they can be kept from changing files then. */
  readonly limits: Effect.Effect<SandboxLimits | undefined>
}>() {
  /**
   * Runs bash, or sh where there is none. Commands see of the environment what a shell needs, and the variables named by
   * `pass`; never one whose name tells of a secret. `set` is what they see besides, as it is.
   */
  static readonly layer = (options: {
    readonly environment: Readonly<Record<string, string | undefined>>
    readonly pass?: ReadonlyArray<string>
    readonly set?: Readonly<Record<string, string>>
  }): Layer.Layer<Shell, never, FileSystem.FileSystem | Processes | Sandbox> =>
    Layer.effect(
      Shell,
      Effect.gen(function*() {
        const place = {
          fs: yield* FileSystem.FileSystem,
          processes: yield* Processes,
          sandbox: yield* Sandbox,
          environment: { ...shellEnvironment(options.environment, options.pass ?? []), ...options.set }
        }
        // Loaded at first use: the program starts without it.
        const loaded = Effect.promise(() => import("./internal/runShell.ts"))
        return {
          limits: place.sandbox.limits,
          run: (command) =>
            Effect.flatMap(loaded, ({ runShell }) => runShell(place, command)).pipe(
              Effect.mapError(({ reason }) =>
                new ShellError({ message: `The command could not be started: ${reason}.` })
              )
            )
        }
      })
    )
}
