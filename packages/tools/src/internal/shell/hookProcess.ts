/**
 * Runs a shell hook once: in its own process group, with the event on its standard input, and without leaving processes
 * behind.
 */
import type * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import { spawn } from "node:child_process"
import { stat } from "node:fs"
import type { Readable } from "node:stream"
import { ownProgram } from "../../OwnPrograms.ts"
import type { Processes } from "../../Processes.ts"
import type { Tracked } from "../../Tracked.ts"
import { processGroup } from "../process/processGroup.ts"

/** A hook could not be started, or its output was too long. */
export class HookUnusable extends Data.TaggedError("HookUnusable")<{ readonly message: string }> {}

/** What to run, where, with which environment and which input. */
export interface HookRun {
  readonly command: string
  readonly directory: string
  readonly environment: Readonly<Record<string, string>>
  readonly input: string
}

/** How it ended. */
export interface HookEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** The maximum length of an answer, in bytes: it may contain the output of a call. */
const longestAnswer = 4 * 1024 * 1024

/** How much of its standard error is kept, in bytes. */
const longestReason = 64 * 1024

/** How long to wait for its output after it has ended: a background process may hold the output open. */
const linger = "500 millis"

/** Keeps the beginning of a stream. The rest is counted and dropped. */
const beginning = (stream: Readable, longest: number) => {
  const pieces: Array<Buffer> = []
  let size = 0
  // A stream that fails has ended. The end of the process explains why.
  stream.on("error", () => {})
  stream.on("data", (bytes: Buffer) => {
    if (size < longest) pieces.push(bytes.subarray(0, longest - size))
    size += bytes.length
  })
  return { text: () => Buffer.concat(pieces).toString("utf8"), isWhole: () => size <= longest }
}

const notStarted = (directory: string, error: NodeJS.ErrnoException) =>
  Effect.async<never, HookUnusable>((resume) => {
    stat(directory, (missing) =>
      resume(
        new HookUnusable({
          message: missing === null ? `it could not be started: ${error.message}` : `the directory ${directory} is gone`
        })
      ))
  })

/** Starts a hook and passes it the event. A hook need not read it. */
const start = (run: HookRun, tracked: Tracked, clock: Clock.Clock) =>
  Effect.try({
    try: () => {
      const child = spawn(ownProgram("sh", run.environment["PATH"], run.directory), ["-c", run.command], {
        cwd: run.directory,
        env: { ...run.environment, ...tracked.environment },
        stdio: ["pipe", "pipe", "pipe"],
        detached: true
      })
      const exited = Deferred.unsafeMake<Pick<HookEnd, "code" | "signal">, HookUnusable>(FiberId.none)
      const closed = Deferred.unsafeMake<void>(FiberId.none)
      child.once("exit", (code, signal) => Deferred.unsafeDone(exited, Effect.succeed({ code, signal })))
      child.once("close", () => Deferred.unsafeDone(closed, Effect.void))
      child.once("error", (error) => Deferred.unsafeDone(exited, notStarted(run.directory, error)))
      const { pid } = child
      if (pid !== undefined) tracked.started(pid)
      child.stdin.on("error", () => {})
      child.stdin.end(run.input)
      return {
        group: pid === undefined
          ? undefined
          : processGroup({ pid, mark: tracked.mark, ended: Deferred.await(exited), clock }),
        exited,
        closed,
        stdout: beginning(child.stdout, longestAnswer),
        stderr: beginning(child.stderr, longestReason),
        letGo: () => {
          for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
        }
      }
    },
    catch: (cause) => new HookUnusable({ message: cause instanceof Error ? cause.message : String(cause) })
  })

type Started = Effect.Effect.Success<ReturnType<typeof start>>

const awaited = ({ closed, exited, stderr, stdout }: Started) =>
  Effect.gen(function*() {
    const end = yield* Deferred.await(exited)
    yield* Effect.timeoutOption(Deferred.await(closed), linger)
    if (!stdout.isWhole()) {
      return yield* new HookUnusable({ message: `it answered more than ${longestAnswer / 1024 / 1024} MB` })
    }
    return { ...end, stdout: stdout.text(), stderr: stderr.text() } satisfies HookEnd
  })

const ended = ({ group, letGo }: Started, exit: Exit.Exit<unknown, unknown>) =>
  Effect.gen(function*() {
    if (group === undefined) return
    if (Exit.isInterrupted(exit)) yield* group.stop
    // It may have ended and left something behind.
    yield* group.kill
    letGo()
  })

/** Runs a hook to its end, or until interruption. None of its processes is left afterwards. */
export const runHook = (
  processes: Pick<typeof Processes.Service, "track">,
  run: HookRun
): Effect.Effect<HookEnd, HookUnusable> =>
  Effect.scoped(Effect.gen(function*() {
    const tracked = yield* processes.track()
    const clock = yield* Effect.clock
    return yield* Effect.acquireUseRelease(start(run, tracked, clock), awaited, ended)
  }))
