/**
 * Owns how ripgrep is run, which binary and no longer than its caller needs, and lists the files below a directory that
 * ignore files do not exclude.
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import { FairSemaphore } from "@skein/core/Fibers"
import type { ToolError } from "@skein/core/Tool"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { StringDecoder } from "node:string_decoder"
import { holdFound } from "./internal/files/wholeFile.ts"
import { type Child, type NotStarted, startChild } from "./internal/process/childProcess.ts"
import { cannot, refuse } from "./internal/refusal.ts"
import { ownProgram } from "./OwnPrograms.ts"
import type { Target } from "./Paths.ts"

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

/** How long ripgrep may take. */
const patience = "30 seconds"

/** How many files are checked. */
const maximumFiles = 1_000_000

/** Notes on an incomplete search. */
export const incomplete = {
  many: `(Stopped after ${maximumFiles} files: there are more. Look in a smaller directory.)`,
  late: "(Stopped after 30 seconds: there may be more. Look in a smaller directory.)",
  /** The note about errors of single files; `undefined` if there are none. */
  unreadable: (complaints: string): string | undefined => {
    const lines = complaints.split("\n").filter((line) => line !== "")
    return lines.length === 0
      ? undefined
      : `(Not everything could be read: ${lines.slice(0, 3).join("; ")}${
        lines.length > 3 ? ` and ${lines.length - 3} more` : ""
      }.)`
  }
}

/** A path below a target, as it is shown. */
export const below = (target: Target, path: string): string => {
  const plain = path.startsWith("./") ? path.slice(2) : path
  return target.shown === "." ? plain : target.shown.endsWith("/") ? target.shown + plain : `${target.shown}/${plain}`
}

/** The name of a place in a sentence. */
export const placeOf = (target: Target): string => target.shown === "." ? "the working directory" : target.shown

/** Runs ripgrep with a time limit; `undefined` if it took too long. */
export const search = (ripgrep: typeof Ripgrep.Service, run: RipgrepRun) =>
  Effect.map(Effect.timeoutOption(ripgrep.run(run), patience), Option.getOrUndefined)

/** Searches a target through paths that keep naming the same files. */
export const lookingIn = <A, R>(
  target: Target,
  look: (held: Effect.Effect.Success<ReturnType<typeof holdFound>>) => Effect.Effect<A, ToolError, R>
) => Effect.scoped(Effect.flatMap(Effect.mapError(holdFound(target.real), cannot("look in", target.shown)), look))

/** Refuses a search in something that is not a directory. */
export const requireDirectory = (fs: FileSystem.FileSystem, target: Target): Effect.Effect<void, ToolError> =>
  Effect.flatMap(
    Effect.mapError(fs.stat(target.real), cannot("look in", target.shown)),
    ({ type }) =>
      type === "Directory"
        ? Effect.void
        : refuse("not_a_directory", `${target.shown} is a ${type}. Give a directory as path.`)
  )

/**
 * Calls `each` with the relative path of every file below a directory that is not hidden, in any order. Returns the
 * notes on the search.
 */
export const eachFile = (
  ripgrep: typeof Ripgrep.Service,
  target: Target,
  hides: ((path: string) => boolean) | undefined,
  each: (path: string) => void
): Effect.Effect<ReadonlyArray<string>, ToolError> => {
  let count = 0
  const run: Omit<RipgrepRun, "directory"> = {
    args: ["--files", "--null"],
    separator: "\0",
    each: (path) => {
      if (hides?.(path) !== true) each(path.startsWith("./") ? path.slice(2) : path)
      return ++count < maximumFiles
    }
  }
  return lookingIn(target, ({ path }) =>
    Effect.map(search(ripgrep, { ...run, directory: path }), (end) => {
      if (count === maximumFiles) return [incomplete.many]
      const note = end === undefined ? incomplete.late : incomplete.unreadable(end.complaints)
      return note === undefined ? [] : [note]
    }))
}
