/**
 * Owns how a command line is run: its environment, its time limit, how much of its output is kept, and that no process
 * of it is left.
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { shellEnvironment, wholeEnvironment } from "./Environment.ts"
import { Processes } from "./Processes.ts"
import { Sandbox } from "./Sandbox.ts"
import type { SandboxLimits } from "./SandboxPlace.ts"
import type { ShellCommand, ShellEnd } from "./ShellCommand.ts"

/** A command line could not be started at all. */
export class ShellError extends Schema.TaggedError<ShellError>()("ShellError", { message: Schema.String }) {}

/** Runs command lines. */
export class Shell extends Context.Tag("@skein/tools/Shell")<Shell, {
  /**
   * Runs a command line to its end, its timeout, or interruption. Then all processes that it started are ended too. On
   * systems with /proc, this includes those that left its group, unless they have also cleared their environment. A
   * process that ignores the request to end is killed after a second.
   */
  readonly run: (command: ShellCommand) => Effect.Effect<ShellEnd, ShellError>
  /** How the sandbox confines commands, if there is one. Only then can they be kept from changing files. */
  readonly limits: Effect.Effect<SandboxLimits | undefined>
  /** Why commands run unconfined although nobody has switched that off; undefined if they do not. */
  readonly fault: Effect.Effect<string | undefined>
}>() {
  /**
   * Runs bash, or sh if there is no bash. Commands get the variables that a shell needs and those in `pass`, but never
   * one whose name marks it as secret. `set` adds variables with values.
   */
  static readonly layer = (options: {
    readonly environment: Readonly<Record<string, string | undefined>>
    readonly pass?: ReadonlyArray<string>
    readonly set?: Readonly<Record<string, string>>
    /** Variables that no command gets, whatever was allowed: the keys of models. */
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
        // Loaded at first use, so that the program starts without it.
        const loaded = Effect.promise(() => import("./internal/shell/runShell.ts"))
        return {
          limits: place.sandbox.limits,
          fault: place.sandbox.fault,
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
