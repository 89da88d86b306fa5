/** Owns how a command line is run: what it may see, how long, how much of its output is kept, and that nothing is left of it. */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { constants } from "node:os"
import { makeFreeBytes } from "./internal/freeBytes.ts"
import { outputBuffer } from "./internal/outputBuffer.ts"
import { shellEnvironment } from "./internal/shellEnvironment.ts"
import { type ShellProcess, startShell } from "./internal/shellProcess.ts"
import { makeSpillWriter } from "./internal/spillWriter.ts"

/** A command line could not be started at all. */
export class ShellError extends Schema.TaggedError<ShellError>()("ShellError", { message: Schema.String }) {}

/** What to run. */
export interface ShellCommand {
  readonly command: string
  /** The directory to run it in, absolute. */
  readonly directory: string
  readonly timeout: Duration.DurationInput
  /** Makes the file that keeps the output when it is too long to be shown whole. */
  readonly spill: Effect.Effect<string, PlatformError>
  /** Told the last lines while it runs, at most ten times a second. */
  readonly watch: (latest: string) => Effect.Effect<void>
}

/** How a command ended. */
export interface ShellEnd {
  /** The exit code; 128 and the number of the signal where a signal ended it, as shells count. */
  readonly exit: number
  readonly timedOut: boolean
  /** What it wrote to both its outputs, in order; beginning and end where that is much. */
  readonly output: string
}

/** Runs command lines. */
export class Shell extends Context.Tag("@skein/tools/Shell")<Shell, {
  /**
   * Runs a command line to its end, its timeout, or interruption. Then all processes that it has started are ended too,
   * but for those that hide from it; a process that ignores requests to end is killed after a second.
   */
  readonly run: (command: ShellCommand) => Effect.Effect<ShellEnd, ShellError>
}>() {
  /**
   * Runs bash, or sh where there is none. Commands see of the environment what a shell needs, and the variables named by
   * `pass`; never one whose name tells of a secret.
   */
  static readonly layer = (options: {
    readonly environment: Readonly<Record<string, string | undefined>>
    readonly pass?: ReadonlyArray<string>
  }): Layer.Layer<Shell, never, FileSystem.FileSystem> =>
    Layer.effect(
      Shell,
      Effect.map(FileSystem.FileSystem, (fs) => {
        const environment = shellEnvironment(options.environment, options.pass ?? [])
        const free = makeFreeBytes()
        return { run: (command) => Effect.scoped(runIn(fs, environment, free, command)) }
      })
    )
}

/** How long the output is waited for once the command itself has ended: what it left in the background may hold it open. */
const linger = "500 millis"

/** How often those who watch are told. */
const pace = "100 millis"

const read = Effect.fnUntraced(function*(
  child: ShellProcess,
  buffer: ReturnType<typeof outputBuffer>,
  spill: (bytes: Buffer) => Effect.Effect<void>,
  free: (bytes: Buffer) => void,
  changed: Effect.Latch
) {
  for (let piece = yield* child.next; Option.isSome(piece); piece = yield* child.next) {
    const overflow = buffer.push(piece.value)
    if (overflow !== undefined) {
      yield* spill(overflow)
      free(piece.value)
    }
    yield* changed.open
  }
})

const runIn = Effect.fnUntraced(function*(
  fs: FileSystem.FileSystem,
  environment: Readonly<Record<string, string>>,
  free: (bytes: Buffer) => void,
  command: ShellCommand
) {
  const buffer = outputBuffer()
  const writer = yield* makeSpillWriter(fs, command.spill)
  const changed = yield* Effect.makeLatch(false)
  const child = yield* Effect.acquireRelease(
    Effect.mapError(
      startShell({ command: command.command, directory: command.directory, environment }),
      ({ reason }) => new ShellError({ message: `The command could not be started: ${reason}.` })
    ),
    (running) => Effect.zipRight(running.stop, running.kill)
  )
  const reader = yield* Effect.forkScoped(read(child, buffer, writer.write, free, changed))
  yield* Effect.forkScoped(
    Effect.forever(Effect.gen(function*() {
      yield* changed.await
      yield* changed.close
      yield* command.watch(buffer.latest())
      yield* Effect.sleep(pace)
    }))
  )

  const inTime = yield* Effect.timeoutOption(Deferred.await(child.ended), command.timeout)
  if (Option.isNone(inTime)) yield* child.stop
  yield* Effect.timeoutOption(Fiber.join(reader), linger)
  yield* child.kill
  const ended = yield* Deferred.poll(child.ended).pipe(
    Effect.flatMap((known) => Option.isNone(known) ? Effect.succeedNone : Effect.asSome(known.value))
  )
  const { code, signal } = Option.getOrElse(ended, () => ({ code: null, signal: "SIGKILL" as const }))
  return {
    exit: code ?? 128 + constants.signals[signal ?? "SIGKILL"],
    timedOut: Option.isNone(inTime),
    output: buffer.text(writer.note)
  } satisfies ShellEnd
})
