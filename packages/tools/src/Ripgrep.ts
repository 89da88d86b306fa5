/** Owns how ripgrep is run: which binary, and never past what its caller needs. */
import type { ToolError } from "@skein/core/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { refuse } from "./internal/refusal.ts"

/** How a run of ripgrep ended. */
export interface RipgrepEnd {
  /** 0: something was found, 1: nothing, 2: an error, perhaps for some files only; `undefined` where it was stopped. */
  readonly code: number | undefined
  /** What it complained of, cut at 16 KB. */
  readonly complaints: string
}

/** What to look for, and what to do with what is found. */
export interface RipgrepRun {
  readonly args: ReadonlyArray<string>
  /** The directory that it looks in, absolute. */
  readonly directory: string
  /** What stands after each record of its output. */
  readonly separator: "\n" | "\0"
  /** Takes a record; `false` where that is enough, and ripgrep is stopped. */
  readonly each: (record: string) => boolean
}

/** Runs ripgrep. Interruption stops it. */
export class Ripgrep extends Context.Tag("@skein/tools/Ripgrep")<Ripgrep, {
  readonly run: (run: RipgrepRun) => Effect.Effect<RipgrepEnd, ToolError>
}>() {
  /** `binary`, else the one that is installed with Skein, else `rg` on the `PATH` of this environment. */
  static readonly layer = (options: {
    readonly environment: Readonly<Record<string, string | undefined>>
    readonly binary?: string
  }): Layer.Layer<Ripgrep> =>
    Layer.effect(
      Ripgrep,
      Effect.gen(function*() {
        const turns = yield* Effect.makeSemaphore(concurrency)
        const { HOME, PATH } = options.environment
        const environment = { ...(PATH === undefined ? {} : { PATH }), ...(HOME === undefined ? {} : { HOME }) }
        // Loaded and resolved at first use: the program starts without it.
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
              runLines({ ...run, file, environment, args: [...standing, ...run.args] }))
              .pipe(
                Effect.catchTag("NotStarted", ({ reason }) =>
                  refuse(
                    "ripgrep",
                    `ripgrep could not be started in ${run.directory}: ${reason}. Run \`skein doctor\` to see what is missing.`
                  )),
                turns.withPermits(1)
              )
        }
      })
    )
}

/** How many run at once: each uses several threads. */
const concurrency = 8

/** The user's own settings of ripgrep hold for what the user runs. Ignore files count outside of git repositories too. */
const standing = ["--no-config", "--color=never", "--hidden", "--no-require-git", "--glob=!.git"]
