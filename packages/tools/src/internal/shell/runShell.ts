/**
 * Runs a command line until the last of its processes has ended, and collects the output in bounded memory: all of it
 * while it is short, then its beginning and its end, and all of it in a file, up to a limit. A command does not start
 * too late: a process that is suspended right before it starts one does not know that its tree was taken over
 * meanwhile, so the shell that it starts looks at the clock of the machine first.
 */
import type { PlatformError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import { failpoint } from "@skein/core/Failpoints"
import { pieces } from "@skein/core/Fibers"
import { bound } from "@skein/core/Spill"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { constants } from "node:os"
import { MessageChannel } from "node:worker_threads"
import { ownProgram } from "../../OwnPrograms.ts"
import type { Processes } from "../../Processes.ts"
import type { Sandbox } from "../../Sandbox.ts"
import type { SandboxPlace } from "../../SandboxPlace.ts"
import type { ShellCommand, ShellEnd } from "../../ShellCommand.ts"
import type { Tracked } from "../../Tracked.ts"
import { namesIn, textOf } from "../disk.ts"
import { head as headOf } from "../files/lineWindow.ts"
import { type Ended, NotStarted, startTracked } from "../process/childProcess.ts"

const closedOnStart = 0o2000000

const look = (): ReadonlyArray<number> =>
  namesIn("/proc/self/fdinfo").map(Number).filter((number) => {
    if (number <= 2) return false
    const info = textOf(`/proc/self/fdinfo/${number}`)
    const flags = /^flags:\s*([0-7]+)$/m.exec(info)?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & closedOnStart) === 0
  })

let found: ReadonlyArray<number> | undefined

/**
 * Their numbers; none if there is no /proc. They do not change: files that Node opens are closed when a program starts.
 */
const inheritedFiles = (): ReadonlyArray<number> => found ??= look()

/** What the clock of the machine says, in hundredths of a second since it started; undefined where it has none. */
const uptime = (): number | undefined => {
  const [, seconds, part] = /^(\d+)\.(\d\d) /.exec(textOf("/proc/uptime")) ?? []
  return seconds === undefined || part === undefined ? undefined : Number(`${seconds}${part}`)
}

/** The time on that clock in so many milliseconds; undefined where there is no limit, or no clock. */
const limitIn = (milliseconds: number): number | undefined => {
  const now = Number.isFinite(milliseconds) ? uptime() : undefined
  return now === undefined ? undefined : now + Math.floor(milliseconds / 10)
}

/** The code with which a shell ends that was too late. It writes its mark then, which no command knows in advance. */
const lateCode = 75

/** What stands before a command line that must not begin after this time. */
const unlessLate = (limit: number | undefined, mark: string): string =>
  limit === undefined
    ? ""
    : `IFS=' .' read -r up part rest </proc/uptime && [ "$up$part" -le ${limit} ] || { echo ${mark}; exit ${lateCode}; }; `

/** Whether a shell ended because it was too late. */
const wasLate = (exit: number, output: string, mark: string): boolean => exit === lateCode && output.trim() === mark

/** A running shell. */
interface ShellProcess {
  readonly pid: number
  readonly ended: Deferred.Deferred<Ended>
  /** The next piece of its output; none once all writers have closed it. One reader at a time. */
  readonly next: Effect.Effect<Option.Option<Buffer>>
  /** Asks it and all processes below it to end. Kills them after a second. */
  readonly stop: Effect.Effect<void>
  /** Kills what is left of it. None of it is there after that. */
  readonly kill: Effect.Effect<void>
}

/**
 * Node gives a child sockets, and a program that opens /dev/stderr fails on one. So both streams go through one pipe
 * and `cat`, which also keeps them in order. `cat` survives the signals, so that it can pass on the last output. It
 * runs outside the sandbox, because everything inside ends with the command. This also captures errors of the sandbox
 * itself.
 */
const wrapped = (cat: string) =>
  `exec 3> >(trap "" TERM INT HUP; exec '${cat.replaceAll("'", String.raw`'\''`)}'); exec "$@" >&3 2>&1 3>&-`

const shells = { bash: wrapped, sh: () => "exec \"$@\" 2>&1" } as const

/** What to run, where, and with which environment. */
interface ShellStart {
  readonly command: string
  /** Its positional parameters. */
  readonly words: ReadonlyArray<string>
  readonly directory: string
  readonly environment: Readonly<Record<string, string>>
  readonly tracked: Tracked
  /** When it must have begun at the latest, as `limitIn` says. */
  readonly limit: number | undefined
  /** What stands before the shell and its arguments, to confine it. */
  readonly confined: ReadonlyArray<string>
}

/** Closes the files that this process inherited. Through them, a command could write where it may not. */
const closing = (files: ReadonlyArray<number>): string => files.map((file) => `exec ${file}>&-; `).join("")

const lineOf = (
  shell: keyof typeof shells,
  { command, confined, directory, environment, limit, tracked, words }: ShellStart
): [string, Array<string>] => {
  const own = (name: string) => ownProgram(name, environment["PATH"], directory)
  // Shells other than bash cannot name a descriptor with two digits.
  const files = inheritedFiles().filter((file) => shell === "bash" || file < 10)
  const line = closing(files) + unlessLate(limit, tracked.mark) + shells[shell](own("cat"))
  return [own(shell), ["-c", line, shell, ...confined, own(shell), "-c", command, shell, ...words]]
}

const started = (shell: keyof typeof shells, start: ShellStart): Effect.Effect<ShellProcess, NotStarted> => {
  const { confined, directory, environment, tracked } = start
  const [file, args] = lineOf(shell, start)
  return startTracked(
    {
      file,
      args,
      directory,
      environment,
      tracked,
      isSandbox: confined.length > 0,
      stdio: ["ignore", "pipe", "ignore"]
    },
    ({ pid, stdout }, ended, group) => ({
      pid,
      ended,
      next: pieces(stdout),
      stop: Effect.flatMap(Deferred.isDone(ended), (isDone) => isDone ? Effect.void : group.stop),
      kill: Effect.zipRight(group.kill, Effect.sync(() => stdout.destroy()))
    })
  )
}

/** Starts bash, or another shell if there is no bash. */
const startShell = (start: ShellStart): Effect.Effect<ShellProcess, NotStarted> =>
  Effect.catchIf(started("bash", start), ({ missing }) => missing === "program", () => started("sh", start))

/** Smaller buffers may share their memory with others. */
const leastOwn = 16 * 1024

/**
 * A port without a listener, which drops what it receives. Node reads a child's output into new memory each time and
 * does not collect it below some 64 MB, so a long output would use that much, however little is kept.
 */
const { port1: sink, port2: other } = new MessageChannel()

other.close()

/** Frees the memory of a large buffer that nobody uses. Small buffers are left alone. */
const freeBytes = (bytes: Buffer): void => {
  const memory = bytes.buffer
  if (!(memory instanceof ArrayBuffer) || memory.byteLength < leastOwn || bytes.length !== memory.byteLength) return
  sink.postMessage(undefined, [memory])
}

/** How much of an output is kept, in bytes. */
const maximumSpill = 64 * 1024 * 1024

/**
 * A writer that creates its file at the first write, and closes it with the scope. A failure costs the file, not the
 * command.
 */
const makeSpillWriter = Effect.fnUntraced(function*(
  fs: FileSystem.FileSystem,
  create: Effect.Effect<string, PlatformError>
) {
  // Not the caller's scope, which closes in reverse order: the file must outlive its writers.
  const scope = yield* Effect.acquireRelease(Scope.make(), (own, exit) => Scope.close(own, exit))
  let state: "new" | "open" | "full" | "failed" = "new"
  let path = ""
  let written = 0
  let file: FileSystem.File | undefined

  const append = Effect.fnUntraced(function*(bytes: Buffer) {
    if (file === undefined) {
      path = yield* create
      file = yield* Scope.extend(fs.open(path, { flag: "a", mode: 0o600 }), scope)
      state = "open"
    }
    const kept = bytes.subarray(0, maximumSpill - written)
    if (kept.length > 0) yield* file.writeAll(kept)
    written += kept.length
    if (written === maximumSpill) state = "full"
  })

  return {
    /** Adds bytes. Bytes over the limit are dropped. */
    write: (bytes: Buffer): Effect.Effect<void> =>
      bytes.length === 0 || state === "full" || state === "failed"
        ? Effect.void
        : append(bytes).pipe(
          Effect.catchAll((error) => {
            state = "failed"
            return Effect.logWarning("A long output could not be kept", error)
          }),
          // A write that continued after its file was closed could hit another file.
          Effect.uninterruptible
        ),
    /** What happened to the bytes that are not shown. */
    note: (left: number): string => {
      const where = path === ""
        ? "They could not be kept: write less, or to a file of your own."
        : state === "failed"
        ? `The first ${written} bytes of the output are in ${path}; no more could be written there.`
        : state === "full"
        ? `The first ${
          maximumSpill / 1024 / 1024
        } MB of the output are in ${path}; read it with offset and limit, or grep it.`
        : `The whole output is in ${path}; read it with offset and limit, or grep it.`
      return `[${left} bytes are left out here. ${where}]`
    }
  }
})

/** How much of an output is shown unchanged. A longer one loses its middle. The rest of the limit is for notes. */
const whole = { lines: bound.lines - 20, bytes: bound.bytes - 2_048 }

const ending = { lines: Math.floor(whole.lines / 2), bytes: Math.floor(whole.bytes / 2) }

const newline = 10

const countLines = (bytes: Uint8Array): number => {
  let lines = 0
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) lines++
  return lines
}

/** The first lines of a text that fit, or the beginning of its first line. */
const firstLines = (bytes: Buffer): Buffer => {
  let to = 0
  for (let line = 0; line < ending.lines; line++) {
    const next = bytes.indexOf(newline, to)
    if (next < 0 || next >= ending.bytes) break
    to = next + 1
  }
  return bytes.subarray(0, to === 0 ? ending.bytes : to)
}

/** The last lines of a text that fit, or the end of its last line. */
const lastLines = (bytes: Buffer): Buffer => {
  const least = Math.max(0, bytes.length - ending.bytes)
  let from = bytes.length
  for (let line = 0; line < ending.lines; line++) {
    const before = from < 2 ? -1 : bytes.lastIndexOf(newline, from - 2)
    if (before + 1 < least) break
    from = before + 1
    if (from === 0) break
  }
  return bytes.subarray(from === bytes.length ? least : from)
}

// A cut inside a character produces replacement characters there.
const decoded = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8").replace(/^\uFFFD{1,3}|\uFFFD$/gu, "")

/** The last bytes that were added. */
const tailBuffer = (size: number) => {
  const bytes = Buffer.alloc(size)
  let held = 0
  return {
    push: (more: Buffer) => {
      const taken = more.subarray(Math.max(0, more.length - size))
      bytes.copyWithin(0, taken.length)
      taken.copy(bytes, size - taken.length)
      held = Math.min(size, held + taken.length)
    },
    last: (length: number): Buffer => bytes.subarray(size - Math.min(length, held))
  }
}

/** Collects an output. Once the output is too long to be shown whole, it keeps none of the pieces that it gets. */
const outputBuffer = () => {
  const tail = tailBuffer(ending.bytes)
  let kept: Array<Buffer> = []
  let head: Buffer | undefined
  let total = 0
  let lines = 0

  return {
    /**
     * Adds to the output. Returns what has to be stored elsewhere: everything so far when it becomes too long, then
     * each piece.
     */
    push: (bytes: Buffer): Buffer | undefined => {
      total += bytes.length
      tail.push(bytes)
      if (head !== undefined) return bytes
      kept.push(bytes)
      lines += countLines(bytes)
      if (total <= whole.bytes && lines <= whole.lines) return undefined
      const all = Buffer.concat(kept)
      head = Buffer.from(firstLines(all))
      kept = []
      return all
    },
    /** The last lines, for live progress. */
    latest: (): string => headOf(decoded(tail.last(2_000)).trimEnd().split("\n").slice(-3).join("\n"), 600),
    /** What is shown; `note` describes what happened to the middle, which has this many bytes. */
    text: (note: (left: number) => string): string => {
      if (head === undefined) return Buffer.concat(kept).toString("utf8")
      const last = lastLines(tail.last(total - head.length))
      return `${decoded(head).trimEnd()}\n\n${note(total - head.length - last.length)}\n\n${decoded(last)}`
    }
  }
}

/** How long to wait for the output after the command has ended: a background process may hold the output open. */
const linger = "500 millis"

/** How often the progress is reported. */
const pace = "100 millis"

const notStarted = ({ message }: { readonly message: string }) =>
  new NotStarted({ missing: undefined, reason: message })

/** This process was suspended right before the command began. */
const late = new NotStarted({
  missing: undefined,
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
  const tracked = yield* processes.track(command.rootID, confined.length > 0)
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
