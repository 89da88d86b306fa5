/**
 * Runs a shell hook once: in its own process group, with the event on its standard input, and without leaving processes
 * behind.
 */
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import type { Readable } from "node:stream"
import { ownProgram } from "../../OwnPrograms.ts"
import type { Processes } from "../../Processes.ts"
import type { Tracked } from "../../Tracked.ts"
import { type Ended, startTracked } from "../process/childProcess.ts"

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
export interface HookEnd extends Ended {
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

/** Starts a hook and passes it the event. A hook need not read it. */
const start = ({ command, directory, environment, input }: HookRun, tracked: Tracked) =>
  startTracked(
    { file: ownProgram("sh", environment["PATH"], directory), args: ["-c", command], directory, environment, tracked },
    (child, ended, group) => {
      const closed = Deferred.unsafeMake<void>(FiberId.none)
      child.once("close", () => Deferred.unsafeDone(closed, Effect.void))
      child.stdin.on("error", () => {})
      child.stdin.end(input)
      return {
        child,
        ended,
        group,
        closed,
        stdout: beginning(child.stdout, longestAnswer),
        stderr: beginning(child.stderr, longestReason)
      }
    }
  ).pipe(Effect.mapError(({ missing, reason }) =>
    new HookUnusable({ message: missing === "directory" ? reason : `it could not be started: ${reason}` })
  ))

/** Runs a hook to its end, or until interruption. None of its processes is left afterwards. */
export const runHook = (
  processes: Pick<typeof Processes.Service, "track">,
  run: HookRun
): Effect.Effect<HookEnd, HookUnusable> =>
  Effect.scoped(Effect.flatMap(processes.track(), (tracked) =>
    Effect.acquireUseRelease(
      start(run, tracked),
      Effect.fnUntraced(function*({ closed, ended, stderr, stdout }) {
        const end = yield* Deferred.await(ended)
        yield* Effect.timeoutOption(Deferred.await(closed), linger)
        if (!stdout.isWhole()) {
          return yield* new HookUnusable({ message: `it answered more than ${longestAnswer / 1024 / 1024} MB` })
        }
        return { ...end, stdout: stdout.text(), stderr: stderr.text() } satisfies HookEnd
      }),
      ({ child: { stderr, stdin, stdout }, group }, exit) =>
        Effect.gen(function*() {
          if (Exit.isInterrupted(exit)) yield* group.stop
          // It may have ended and left something behind.
          yield* group.kill
          for (const stream of [stdin, stdout, stderr]) stream.destroy()
        })
    )))
