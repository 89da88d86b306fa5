/** Runs a command line until the last of its processes has ended, and collects the output. */
import type * as FileSystem from "@effect/platform/FileSystem"
import { failpoint } from "@skein/core/Failpoints"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { constants } from "node:os"
import type { Processes } from "../../Processes.ts"
import type { Sandbox } from "../../Sandbox.ts"
import type { SandboxPlace } from "../../SandboxPlace.ts"
import type { ShellCommand, ShellEnd } from "../../ShellCommand.ts"
import { freeBytes } from "./freeBytes.ts"
import { outputBuffer } from "./outputBuffer.ts"
import { NotStarted, type ShellProcess, startShell } from "./shellProcess.ts"
import { makeSpillWriter } from "./spillWriter.ts"
import { limitIn, wasLate } from "./startLimit.ts"

/** How long to wait for the output after the command has ended: a background process may hold the output open. */
const linger = "500 millis"

/** How often the progress is reported. */
const pace = "100 millis"

const notStarted = ({ message }: { readonly message: string }) => new NotStarted({ code: undefined, reason: message })

/** This process was suspended right before the command began. */
const late = new NotStarted({
  code: undefined,
  reason: "this process was suspended before the command began, and may have lost the session meanwhile"
})

const read = Effect.fnUntraced(function*(
  child: ShellProcess,
  buffer: ReturnType<typeof outputBuffer>,
  spill: (bytes: Buffer) => Effect.Effect<void>,
  changed: Effect.Latch
) {
  for (let piece = yield* child.next; Option.isSome(piece); piece = yield* child.next) {
    const overflow = buffer.push(piece.value)
    yield* failpoint("effect_done_before_exit")
    if (overflow !== undefined) {
      yield* spill(overflow)
      freeBytes(piece.value)
    }
    yield* changed.open
  }
})

/** What commands need to run. */
interface Place {
  readonly fs: FileSystem.FileSystem
  readonly processes: Pick<typeof Processes.Service, "track">
  readonly environment: Readonly<Record<string, string>>
  /** The environment with all secrets except the keys of models. */
  readonly credentials: Readonly<Record<string, string>>
  readonly sandbox: typeof Sandbox.Service
}

const run = Effect.fnUntraced(function*(
  { credentials, environment, fs, processes, sandbox }: Place,
  command: ShellCommand,
  { say, tell }: Required<Pick<SandboxPlace, "say" | "tell">>
) {
  const buffer = outputBuffer()
  const writer = yield* makeSpillWriter(fs, command.spill)
  const changed = yield* Effect.makeLatch(false)
  const confined = yield* Effect.mapError(
    sandbox.confine({
      ...command,
      approved: command.approved ?? [],
      reached: command.reached ?? [],
      readOnly: command.readOnly ?? false,
      say,
      tell
    }),
    notStarted
  )
  const tracked = yield* processes.track(command.rootID)
  const limit = command.confirm === undefined
    ? undefined
    : limitIn(yield* Effect.mapError(command.confirm, notStarted))
  yield* failpoint("before_spawn")
  const child = yield* Effect.acquireRelease(
    startShell({
      command: command.command,
      words: command.words ?? [],
      directory: command.directory,
      environment: command.credentials === true ? credentials : environment,
      tracked,
      limit,
      confined
    }),
    (running) => Effect.zipRight(running.stop, running.kill)
  )
  yield* failpoint("after_spawn")
  const reader = yield* Effect.forkScoped(read(child, buffer, writer.write, changed))
  yield* Effect.forkScoped(
    Effect.forever(Effect.gen(function*() {
      yield* changed.await
      yield* changed.close
      yield* command.watch(buffer.latest())
      yield* Effect.sleep(pace)
    }))
  )

  let exceeded: string | undefined
  const watched = Effect.tap(sandbox.watch(child.pid), (reason) => {
    exceeded = reason
    return child.kill
  })
  yield* Effect.forkScoped(watched)

  const inTime = yield* Effect.timeoutOption(Deferred.await(child.ended), command.timeout)
  if (Option.isNone(inTime)) yield* child.stop
  yield* Effect.timeoutOption(Fiber.join(reader), linger)
  yield* child.kill
  const ended = yield* Deferred.poll(child.ended).pipe(
    Effect.flatMap((known) => Option.isNone(known) ? Effect.succeedNone : Effect.asSome(known.value))
  )
  const { code, signal } = Option.getOrElse(ended, () => ({ code: null, signal: "SIGKILL" as const }))
  const exit = code ?? 128 + constants.signals[signal ?? "SIGKILL"]
  const output = buffer.text(writer.note)
  if (limit !== undefined && wasLate(exit, output, tracked.mark)) return yield* late
  const excess = exceeded ?? tracked.exceeded()
  const isKilled = signal === "SIGKILL" && Option.isSome(inTime) && excess === undefined
  return {
    exit,
    timedOut: Option.isNone(inTime),
    ...(isKilled && tracked.hasLapsed() ? { lapsed: true as const } : {}),
    ...(excess === undefined ? {} : { exceeded: excess }),
    output
  } satisfies ShellEnd
})

/** Runs a command. None of its processes is left when this ends. */
export const runShell = (place: Place, command: ShellCommand): Effect.Effect<ShellEnd, NotStarted> =>
  Effect.suspend(() => {
    const notes: Array<string> = []
    const say = (note: string) => Effect.sync(() => notes.push(`[Sandbox: ${note}]`))
    const tell = (note: string) =>
      Effect.sync(() => notes.push(`[${note} Tell the user, who can look at it and put it back.]`))
    return Effect.map(
      Effect.scoped(run(place, command, { say, tell })),
      (end) => notes.length === 0 ? end : { ...end, output: [end.output.trimEnd(), ...notes].join("\n") }
    )
  })
