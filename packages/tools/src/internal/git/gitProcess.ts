/** Runs git once: in its own process group, with its output read to the end. Interruption asks it to end. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import type { Readable } from "node:stream"
import { StringDecoder } from "node:string_decoder"
import { ownEnvironment, ownProgram } from "../../OwnPrograms.ts"
import { type Child, type NotStarted, startChild } from "../process/childProcess.ts"
import { signalGroup } from "../process/processes.ts"
import { guard } from "../process/processGroup.ts"

/**
 * The variables that keep git from fetching objects that are missing, as a partial clone may: the repository's config
 * names the program that does it.
 */
export const withoutFetching = { GIT_ALLOW_PROTOCOL: "", GIT_NO_LAZY_FETCH: "1" } as const

/** What a repository's config may name for git to run, switched off. */
const switchedOff = ["core.fsmonitor=false", "core.hooksPath=/dev/null", "log.showSignature=false"].flatMap(
  (setting) => ["-c", setting]
)

/** Commands that run nothing. What they say is what the config says. */
const telling = new Set(["config", "rev-parse"])

/** The command in the arguments of git, behind git's own options. */
export const commandIn = (args: ReadonlyArray<string>): string | undefined => {
  let at = 0
  while (args[at]?.startsWith("-") === true) at += args[at] === "-c" ? 2 : 1
  return args[at]
}

const safely = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  telling.has(commandIn(args) ?? "") ? args : [...switchedOff, ...args]

/** What to run, and where. */
export interface GitRun {
  readonly args: ReadonlyArray<string>
  readonly directory: string
  readonly environment: Readonly<Record<string, string>>
  /**
   * Receives each NUL-terminated record of the output instead of storing it: some outputs are as long as the
   * repository.
   */
  readonly each?: (record: string) => void
}

/** How it ended. */
export interface GitEnd {
  /** The exit code; `undefined` if a signal ended it. */
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

/** How much of an output is kept, in characters. */
const maximumKept = 4 * 1024 * 1024

/** How long git may take to release its locks after it was asked to end. */
const grace = "2 seconds"

const reader = (stream: Readable, each?: (record: string) => void) => {
  const decoder = new StringDecoder("utf8")
  let kept = ""
  stream.on("error", () => {})
  stream.on("data", (bytes: Buffer) => {
    if (kept.length < maximumKept) kept += decoder.write(bytes)
    if (each === undefined) return
    const records = kept.split("\0")
    kept = records.pop() ?? ""
    for (const record of records) each(record)
  })
  return () => kept
}

const reading = ({ each }: GitRun) => (child: Child) => {
  const closed = Deferred.unsafeMake<GitEnd>(FiberId.none)
  const stdout = reader(child.stdout, each)
  const stderr = reader(child.stderr)
  const unguard = guard(child.pid)
  child.once("close", (code) => {
    unguard()
    Deferred.unsafeDone(closed, Effect.succeed({ code: code ?? undefined, stdout: stdout(), stderr: stderr() }))
  })
  return { child, closed }
}

const stop = ({ child, closed }: ReturnType<ReturnType<typeof reading>>) =>
  Effect.gen(function*() {
    // Stopping cannot be interrupted, and an uninterruptible effect cannot time out.
    const closedInTime = Effect.timeoutOption(Effect.interruptible(Deferred.await(closed)), grace)
    // Git releases its locks if it is asked to end. If killed, it would leave them in the user's repository.
    signalGroup(child.pid, "SIGTERM")
    yield* closedInTime
    signalGroup(child.pid, "SIGKILL")
    yield* closedInTime
    child.stdout.destroy()
    child.stderr.destroy()
  })

/**
 * Runs git to its end, without hooks and without a monitor of the repository's. Interruption waits until it and its
 * children have ended.
 */
export const runGit = (run: GitRun): Effect.Effect<GitEnd, NotStarted> =>
  Effect.acquireUseRelease(
    startChild({
      ...run,
      args: safely(run.args),
      file: ownProgram("git", run.environment["PATH"], run.directory),
      // It runs others by their names, such as ssh and filters.
      environment: ownEnvironment(run.environment, run.directory),
      stdio: ["ignore", "pipe", "pipe"]
    }, reading(run)),
    ({ closed }) => Deferred.await(closed),
    (running, exit) => Exit.isSuccess(exit) ? Effect.void : stop(running)
  )
