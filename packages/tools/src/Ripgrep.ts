/** Owns how ripgrep is run: which binary, and no longer than its caller needs. */
import { FairSemaphore } from "@skein/core/Fibers"
import type { ToolError } from "@skein/core/Tool"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import { StringDecoder } from "node:string_decoder"
import { type Child, type NotStarted, startChild } from "./internal/process/childProcess.ts"
import { refuse } from "./internal/refusal.ts"
import { ownProgram } from "./OwnPrograms.ts"

/** How much of a program's error output is kept, in characters. */
const maximumComplaints = 16 * 1024

/** A longer record is truncated: a line of a megabyte is of no use. */
const maximumRecord = 1024 * 1024

/** What to run, and what to do with its output. */
interface Run {
  readonly file: string
  readonly args: ReadonlyArray<string>
  readonly directory: string
  readonly environment: Readonly<Record<string, string>>
  readonly separator: string
  readonly each: (record: string) => boolean
}

interface End {
  readonly code: number | undefined
  readonly complaints: string
}

/** Reads the output of a program record by record, until it has ended or `each` has enough. */
const reading = ({ each, separator }: Run) => (child: Child) => {
  const closed = Deferred.unsafeMake<End>(FiberId.none)
  const decoder = new StringDecoder("utf8")
  let rest = ""
  let complaints = ""
  let isStopped = false

  const stop = () => {
    isStopped = true
    child.kill("SIGKILL")
    child.stdout.destroy()
    child.stderr.destroy()
  }

  child.stdout.on("data", (bytes: Buffer) => {
    if (isStopped) return
    const records = (rest + decoder.write(bytes)).split(separator)
    rest = (records.pop() ?? "").slice(0, maximumRecord)
    if (!records.every(each)) stop()
  })
  child.stderr.on("data", (bytes: Buffer) => {
    if (complaints.length < maximumComplaints) {
      complaints = (complaints + bytes.toString("utf8")).slice(0, maximumComplaints)
    }
  })
  // An error that ends a stream early ends the program as well, and `close` reports it.
  for (const stream of [child.stdout, child.stderr]) stream.on("error", () => {})
  child.once("close", (code) => {
    if (!isStopped && rest !== "") each(rest)
    Deferred.unsafeDone(closed, Effect.succeed({ code: isStopped ? undefined : code ?? undefined, complaints }))
  })
  return { closed, stop }
}

/** Runs the program to its end, or until `each` has enough. */
const runLines = (run: Run): Effect.Effect<End, NotStarted> =>
  Effect.acquireUseRelease(
    startChild({ ...run, inGroup: true, stdio: ["ignore", "pipe", "pipe"] }, reading(run)),
    ({ closed }) => Deferred.await(closed),
    ({ stop }) => Effect.sync(stop)
  )

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
        // Resolved at first use, so that the program starts without it.
        const binary = options.binary !== undefined
          ? Effect.succeed(options.binary)
          : Effect.tryPromise(() => import("@vscode/ripgrep")).pipe(
            Effect.map(({ rgPath }) => rgPath),
            Effect.orElseSucceed(() => "rg")
          )
        return {
          run: (run) =>
            Effect.flatMap(binary, (file) =>
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
