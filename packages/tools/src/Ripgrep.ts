/** Owns how ripgrep is run: which binary, and no longer than its caller needs. */
import { FairSemaphore } from "@skein/core/Fibers"
import type { ToolError } from "@skein/core/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { refuse } from "./internal/refusal.ts"
import { ownProgram } from "./OwnPrograms.ts"

/** How a run of ripgrep ended. */
export interface RipgrepEnd {
  /** 0: matches, 1: no matches, 2: an error, perhaps for some files only; `undefined` if it was stopped. */
  readonly code: number | undefined
  /** Its error output, truncated at 16 KB. */
  readonly complaints: string
}

/** What to search for, and what to do with the matches. */
export interface RipgrepRun {
  readonly args: ReadonlyArray<string>
  /** The directory to search, absolute. */
  readonly directory: string
  /** The separator after each record of its output. */
  readonly separator: "\n" | "\0"
  /** Takes a record. `false` stops ripgrep. */
  readonly each: (record: string) => boolean
}

/** Runs ripgrep. Interruption stops it. */
export class Ripgrep extends Context.Tag("@skein/tools/Ripgrep")<Ripgrep, {
  readonly run: (run: RipgrepRun) => Effect.Effect<RipgrepEnd, ToolError>
}>() {
  /** Uses `binary`, or the one that is installed with Skein, or `rg` on the `PATH` of this environment. */
  static readonly layer = (options: {
    readonly environment: Readonly<Record<string, string | undefined>>
    readonly binary?: string
  }): Layer.Layer<Ripgrep> =>
    Layer.effect(
      Ripgrep,
      Effect.sync(() => {
        const turns = new FairSemaphore(concurrency)
        const { HOME, PATH } = options.environment
        const environment = { ...(PATH === undefined ? {} : { PATH }), ...(HOME === undefined ? {} : { HOME }) }
        // Loaded and resolved at first use, so that the program starts without it.
        const loaded = Effect.promise(() => import("./internal/runLines.ts"))
        const binary = options.binary !== undefined
          ? Effect.succeed(options.binary)
          : Effect.tryPromise(() => import("@vscode/ripgrep")).pipe(
            Effect.map(({ rgPath }) => rgPath),
            Effect.orElseSucceed(() => "rg")
          )
        return {
          run: (run) =>
            Effect.flatMap(Effect.all([binary, loaded]), ([file, { runLines }]) =>
              runLines({
                ...run,
                file: ownProgram(file, PATH, run.directory),
                environment,
                args: [...standing, ...run.args]
              }))
              .pipe(
                Effect.catchTag("NotStarted", ({ reason }) =>
                  refuse(
                    "ripgrep",
                    `ripgrep could not be started in ${run.directory}: ${reason}. Run \`skein doctor\` to see what is missing.`
                  )),
                turns.withPermit
              )
        }
      })
    )
}

/** The maximum number of parallel runs: each uses several threads. */
const concurrency = 8

/**
 * The user's ripgrep settings are for the user's own runs, so they are ignored. Ignore files apply outside of git
 * repositories too.
 */
const standing = ["--no-config", "--color=never", "--hidden", "--no-require-git", "--glob=!.git"]
