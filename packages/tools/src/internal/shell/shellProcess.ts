/**
 * Runs a shell once: in its own process group, with its output read to the end, and without leaving processes behind. A
 * command does not start too late: a process that is suspended right before it starts one does not know that its tree
 * was taken over meanwhile, so the shell that it starts looks at the clock of the machine first.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Readable } from "node:stream"
import { ownProgram } from "../../OwnPrograms.ts"
import type { Tracked } from "../../Tracked.ts"
import { namesIn, textOf } from "../disk.ts"
import { type Ended, type NotStarted, startTracked } from "../process/childProcess.ts"

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
export const limitIn = (milliseconds: number): number | undefined => {
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
export const wasLate = (exit: number, output: string, mark: string): boolean =>
  exit === lateCode && output.trim() === mark

/** A running shell. */
export interface ShellProcess {
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

/** The pieces of a stream as they arrive. Unrequested data stays in the pipe, so that its writer waits. */
const pieces = (stream: Readable): Effect.Effect<Option.Option<Buffer>> => {
  let waiting = () => {}
  // Keep these listeners: once a child has ended, Node drops data without a listener.
  for (const event of ["readable", "end", "error", "close"]) stream.on(event, () => waiting())
  return Effect.async((resume) => {
    const read = () => {
      const bytes: Buffer | null = stream.read()
      if (bytes === null && !stream.readableEnded && !stream.destroyed) return
      waiting = () => {}
      resume(Effect.succeed(Option.fromNullable(bytes)))
    }
    waiting = read
    read()
    return Effect.sync(() => {
      waiting = () => {}
    })
  })
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
export const startShell = (start: ShellStart): Effect.Effect<ShellProcess, NotStarted> =>
  Effect.catchIf(started("bash", start), ({ missing }) => missing === "program", () => started("sh", start))
