/** Owns the three streams of the process. */
import type { Size } from "@skein/tui/Screen"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { closeSync, openSync } from "node:fs"
import type { Readable, Writable } from "node:stream"
import { isatty, ReadStream } from "node:tty"

/** How many characters may wait in the output buffer before writers have to wait. */
export const mostWaiting = 1024 * 1024

/** The streams of the process. */
export class Stdio extends Context.Tag("@skein/cli/Stdio")<Stdio, {
  /** Writes to standard output: results, and nothing else. Never throws. */
  readonly out: (text: string) => void
  /** Writes a line to standard error, for people. Never throws. */
  readonly err: (line: string) => void
  /** Gives the lines for standard error to a function that shows them, where both are the terminal that it draws on. */
  readonly divert: (show: (line: string) => void) => Effect.Effect<void, never, Scope.Scope>
  /** Which of the streams are terminals. */
  readonly isTerminal: { readonly input: boolean; readonly output: boolean; readonly error: boolean }
  /** The size of the terminal now, also if the signal that it changed has not been handled yet. */
  readonly size: () => Size
  /** Calls a function whenever the terminal changes its size. */
  readonly onResize: (listener: () => void) => Effect.Effect<void, never, Scope.Scope>
  /**
   * Calls a function when standard output can no longer be written, with the reason: `EPIPE` if its reader closed it.
   */
  readonly onGone: (listener: (code: string) => void) => Effect.Effect<void, never, Scope.Scope>
  /** Standard input. */
  readonly input: () => Readable
  /** Where keys come from: standard input, or else the controlling terminal; undefined if there is neither. */
  readonly keyboard: () => ReadStream | undefined
  /** Ends when the system has taken all output, or the reader has closed it. */
  readonly flush: Effect.Effect<void>
  /** How many written characters the system has not taken yet. */
  readonly waiting: () => number
  /** Whether the output buffer is so full that writers should wait for `drained`; never true after `hurry`. */
  readonly isFull: () => boolean
  /** Ends when the system has taken all output, or after `hurry`. */
  readonly drained: Effect.Effect<void>
  /** Says that the program is ending: from now on no writer waits for a reader. */
  readonly hurry: () => void
}>() {
  /** The streams of this process. Node creates each one when it is first used, because creating it is slow. */
  static readonly layer: Layer.Layer<Stdio> = Layer.sync(Stdio, () => {
    const listeners = new Set<(code: string) => void>()
    const isTerminal = { input: isatty(0), output: isatty(1), error: isatty(2) }
    const letGo = () => letGoOfTerminal([isTerminal.input, isTerminal.output, isTerminal.error])
    const held = new Set<() => void>()
    let shown: ((line: string) => void) | undefined
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
      err: (line) => shown === undefined ? void error().write(`${line}\n`) : shown(line),
      divert: (show) =>
        Effect.asVoid(Effect.acquireRelease(
          Effect.sync(() => shown = isTerminal.error ? show : undefined),
          () => Effect.sync(() => shown = undefined)
        )),
      isTerminal,
      size: () => sizeOf(output()),
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
      // The caller may be uninterruptible, and a race would then wait for its loser.
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

/** The controlling terminal. A person may sit in front of it although standard input is a pipe. */
const terminal = (): ReadStream | undefined =>
  Option.getOrUndefined(Option.liftThrowable(() => new ReadStream(openSync("/dev/tty", "r")))())

/**
 * On exit, Node restores the settings of terminals, and aborts if that fails. So this releases closed terminals first.
 */
const letGoOfTerminal = (wereTerminals: ReadonlyArray<boolean>): void =>
  wereTerminals.forEach((wasTerminal, fd) => {
    if (!wasTerminal || isatty(fd)) return
    closeSync(fd)
    // Keep the descriptor's number taken, so that no other file gets it.
    openSync("/dev/null", "r+")
  })

/** Node asks the system once a signal comes; what is drawn before that would count rows of a size that is gone. */
const sizeOf = (stream: typeof process.stdout & { readonly _refreshSize?: () => void }): Size => {
  if (!stream.destroyed) stream._refreshSize?.()
  return { columns: stream.columns || 80, rows: stream.rows || 24 }
}

const waitingIn = (stream: Writable | undefined): number =>
  stream === undefined || stream.destroyed || stream.errored ? 0 : stream.writableLength

/** Calls a function when the system has taken all output, or never will. */
const whenTaken = (stream: Writable | undefined, then: () => void): void => {
  if (stream === undefined || waitingIn(stream) === 0) then()
  else stream.write("", () => then())
}

const flushed = (stream: Writable | undefined) =>
  Effect.suspend(() => {
    if (stream === undefined) return Effect.void
    // A stream reports an error only a moment after it happened.
    if (stream.errored) return Effect.sleep(0)
    if (stream.destroyed || stream.writableLength === 0) return Effect.void
    return Effect.async<void>((resume) => void stream.write("", () => resume(Effect.void)))
  })

/** The operations on the streams. */
export type Streams = Context.Tag.Service<typeof Stdio>
