/** Owns how a command line is run: what it may see, how long, how much of its output is kept, and that nothing is left of it. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { shellEnvironment, wholeEnvironment } from "./internal/shell/shellEnvironment.ts"
import { Processes } from "./Processes.ts"
import { Sandbox } from "./Sandbox.ts"
import type { SandboxLimits } from "./SandboxPlace.ts"
import type { ShellCommand, ShellEnd } from "./ShellCommand.ts"

/** A command line could not be started at all. */
export class ShellError extends Schema.TaggedError<ShellError>()("ShellError", { message: Schema.String }) {}

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
    /** Variables that no command sees, whatever it was allowed: the keys of models. */
    readonly withheld?: ReadonlyArray<string>
  }): Layer.Layer<Shell, never, FileSystem.FileSystem | Processes | Sandbox> =>
    Layer.effect(
      Shell,
      Effect.gen(function*() {
        const place = {
          fs: yield* FileSystem.FileSystem,
          processes: yield* Processes,
          sandbox: yield* Sandbox,
          environment: { ...shellEnvironment(options.environment, options.pass ?? []), ...options.set },
          credentials: { ...wholeEnvironment(options.environment, options.withheld ?? []), ...options.set }
        }
        // Loaded at first use: the program starts without it.
        const loaded = Effect.promise(() => import("./internal/shell/runShell.ts"))
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
