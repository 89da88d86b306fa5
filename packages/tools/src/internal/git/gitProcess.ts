/** Runs git once: in its own process group, with its output read to the end. Interruption asks it to end. */
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { stat } from "node:fs"
import type { Readable } from "node:stream"
import { StringDecoder } from "node:string_decoder"
import { ownEnvironment, ownProgram } from "../../OwnPrograms.ts"
import { guard } from "../process/processGroup.ts"
import { signalGroup } from "../processes.ts"

/**
 * The variables that keep git from fetching objects that are missing, as a partial clone may: the repository's config
 * names the program that does it.
 */
export const withoutFetching = { GIT_ALLOW_PROTOCOL: "", GIT_NO_LAZY_FETCH: "1" } as const

/** Git did not start. `missing` says which file does not exist, if that is the reason. */
export class GitNotStarted extends Data.TaggedError("GitNotStarted")<{
  readonly missing: "git" | "directory" | undefined
  readonly reason: string
}> {}

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

const notStarted = (directory: string, error: NodeJS.ErrnoException) =>
  Effect.async<never, GitNotStarted>((resume) => {
    stat(directory, (missing) => {
      const isGit = missing === null && error.code === "ENOENT"
      resume(Effect.fail(
        new GitNotStarted({
          missing: missing !== null ? "directory" : isGit ? "git" : undefined,
          reason: missing !== null ? missing.message : isGit ? "there is no program git on the PATH" : error.message
        })
      ))
    })
  })

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

const ended = (child: ChildProcessByStdio<null, Readable, Readable>, run: GitRun) =>
  Effect.async<GitEnd, GitNotStarted>((resume) => {
    const closed = Deferred.unsafeMake<void>(FiberId.none)
    const stdout = reader(child.stdout, run.each)
    const stderr = reader(child.stderr)
    const { pid } = child
    const unguard = pid === undefined ? () => {} : guard(pid)
    child.once("error", (error) => resume(notStarted(run.directory, error)))
    child.once("close", (code) => {
      unguard()
      Deferred.unsafeDone(closed, Effect.void)
      // A process that did not start is closed too. The reason is still being determined.
      if (pid !== undefined) resume(Effect.succeed({ code: code ?? undefined, stdout: stdout(), stderr: stderr() }))
    })
    if (pid === undefined) return
    // Stopping cannot be interrupted, and an uninterruptible effect cannot time out.
    const closedInTime = Effect.timeoutOption(Effect.interruptible(Deferred.await(closed)), grace)
    return Effect.gen(function*() {
      // Git releases its locks if it is asked to end. If killed, it would leave them in the user's repository.
      signalGroup(pid, "SIGTERM")
      yield* closedInTime
      signalGroup(pid, "SIGKILL")
      yield* closedInTime
      child.stdout.destroy()
      child.stderr.destroy()
    })
  })

/** Runs git to its end. Interruption waits until it and its children have ended. */
export const runGit = (run: GitRun): Effect.Effect<GitEnd, GitNotStarted> =>
  Effect.flatMap(
    Effect.try({
      try: () =>
        spawn(ownProgram("git", run.environment["PATH"], run.directory), run.args, {
          cwd: run.directory,
          // It runs others by their names, such as ssh and filters.
          env: ownEnvironment(run.environment, run.directory),
          stdio: ["ignore", "pipe", "pipe"],
          detached: true
        }),
      catch: (cause) =>
        new GitNotStarted({ missing: undefined, reason: cause instanceof Error ? cause.message : String(cause) })
    }),
    (child) => ended(child, run)
  )
