/** Owns the three streams of the process. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { closeSync, openSync } from "node:fs"
import type { Readable, Writable } from "node:stream"
import { isatty, ReadStream } from "node:tty"

/** The size of a terminal. */
export interface Size {
  readonly columns: number
  readonly rows: number
}

/** How much may wait to be read before those who write have to wait, in characters. */
export const mostWaiting = 1024 * 1024

/** The streams of the process. */
export class Stdio extends Context.Tag("@skein/cli/Stdio")<Stdio, {
  /** Writes to standard output: results, and nothing else. Never throws. */
  readonly out: (text: string) => void
  /** Writes a line to standard error, for people. Never throws. */
  readonly err: (line: string) => void
  /** Which of the streams are terminals. */
  readonly isTerminal: { readonly input: boolean; readonly output: boolean; readonly error: boolean }
  /** The size of the terminal now. */
  readonly size: () => Size
  /** Calls a function whenever the terminal changes its size. */
  readonly onResize: (listener: () => void) => Effect.Effect<void, never, Scope.Scope>
  /** Calls a function when standard output cannot be written any more, with the reason: `EPIPE` where its reader is gone. */
  readonly onGone: (listener: (code: string) => void) => Effect.Effect<void, never, Scope.Scope>
  /** Standard input, for those who read it. */
  readonly input: () => Readable
  /** Where keys come from: standard input, or the terminal that the process belongs to; undefined where there is none. */
  readonly keyboard: () => ReadStream | undefined
  /** Ends when everything that was written has been handed to the system, or when nobody reads it. */
  readonly flush: Effect.Effect<void>
  /** How much was written that the system has not taken yet, in characters. */
  readonly waiting: () => number
  /** Whether so much waits to be read that writers should wait for `drained`; never true after `hurry`. */
  readonly isFull: () => boolean
  /** Ends when everything has been handed to the system, or with `hurry`. */
  readonly drained: Effect.Effect<void>
  /** Says that the program ends: from now on nobody who writes waits for a reader. */
  readonly hurry: () => void
}>() {
  /** The streams of this process. Node makes each of them when it is first used, which takes its time. */
  static readonly layer: Layer.Layer<Stdio> = Layer.sync(Stdio, () => {
    const listeners = new Set<(code: string) => void>()
    const isTerminal = { input: isatty(0), output: isatty(1), error: isatty(2) }
    const letGo = () => letGoOfTerminal([isTerminal.input, isTerminal.output, isTerminal.error])
    const held = new Set<() => void>()
    let gone = false
    let isHurried = false
    let stdout: typeof process.stdout | undefined
    let stderr: typeof process.stderr | undefined
    const onGone = ({ code = "EIO" }: NodeJS.ErrnoException) => {
      gone = true
      for (const listener of listeners) listener(code)
    }
    const output = () => stdout ??= process.stdout.on("error", onGone)
    const error = () => stderr ??= process.stderr.on("error", () => undefined)
    const waiting = () => waitingIn(stdout) + waitingIn(stderr)
    return {
      out: (text) => {
        if (!gone) output().write(text)
      },
      err: (line) => void error().write(`${line}\n`),
      isTerminal,
      size: () => ({ columns: output().columns || 80, rows: output().rows || 24 }),
      onResize: (listener) =>
        Effect.asVoid(
          Effect.acquireRelease(
            Effect.sync(() => output().on("resize", listener)),
            () => Effect.sync(() => output().off("resize", listener))
          )
        ),
      onGone: (listener) =>
        Effect.asVoid(
          Effect.acquireRelease(
            Effect.sync(() => listeners.add(listener)),
            () => Effect.sync(() => listeners.delete(listener))
          )
        ),
      input: () => process.stdin,
      keyboard: () => {
        process.once("exit", letGo)
        return isatty(0) ? process.stdin : terminal()
      },
      flush: Effect.suspend(() => Effect.zipRight(flushed(stdout), flushed(stderr))),
      waiting,
      isFull: () => !isHurried && waiting() > mostWaiting,
      // What is held back may be uninterruptible, where a race would wait for its loser.
      drained: Effect.async<void>((resume) => {
        const release = () => {
          held.delete(release)
          resume(Effect.void)
        }
        held.add(release)
        if (isHurried) release()
        else whenTaken(stdout, () => whenTaken(stderr, release))
      }),
      hurry: () => {
        isHurried = true
        for (const release of held) release()
      }
    }
  })
}

/** The terminal of the process: what is piped into standard input does not take away the person in front of it. */
const terminal = (): ReadStream | undefined =>
  Option.getOrUndefined(Option.liftThrowable(() => new ReadStream(openSync("/dev/tty", "r")))())

/**
 * Node gives a terminal its settings back when the process ends, and aborts where that fails: a terminal that has been
 * closed is let go of before.
 */
const letGoOfTerminal = (wereTerminals: ReadonlyArray<boolean>): void =>
  wereTerminals.forEach((wasTerminal, fd) => {
    if (!wasTerminal || isatty(fd)) return
    closeSync(fd)
    // The number must not be left to others.
    openSync("/dev/null", "r+")
  })

const waitingIn = (stream: Writable | undefined): number =>
  stream === undefined || stream.destroyed || stream.errored ? 0 : stream.writableLength

/** Calls a function when the system has taken what was written, or never will. */
const whenTaken = (stream: Writable | undefined, then: () => void): void => {
  if (stream === undefined || waitingIn(stream) === 0) then()
  else stream.write("", () => then())
}

const flushed = (stream: Writable | undefined) =>
  Effect.suspend(() => {
    if (stream === undefined) return Effect.void
    // Streams tell of an error a moment after it has happened.
    if (stream.errored) return Effect.sleep(0)
    if (stream.destroyed || stream.writableLength === 0) return Effect.void
    return Effect.async<void>((resume) => void stream.write("", () => resume(Effect.void)))
  })

/** What can be done with the streams. */
export type Streams = Context.Tag.Service<typeof Stdio>
