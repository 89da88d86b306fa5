/** Owns what ends the program early: a signal, or output that can no longer be written. */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { ExitCode, exitCodeOf, type SignalName, signals } from "./ExitCode.ts"
import { Stdio } from "./Stdio.ts"

/** What ended the program, with its exit code. */
export interface StopReason {
  readonly by: SignalName | "EPIPE" | "output" | "request"
  readonly exitCode: number
  /** What happened, for people. */
  readonly message: string
}

/** What ends the program early. */
export class Stop extends Context.Tag("@skein/cli/Stop")<Stop, {
  /** Waits until the program has to stop. */
  readonly awaited: Effect.Effect<StopReason>
  /** Why the program has to stop; undefined until then. */
  readonly reason: () => StopReason | undefined
  /** Whether the reason was already shown to the user; `true` records that it is shown now. */
  readonly isReported: (now?: boolean) => boolean
  /**
   * Until the scope closes, asks a function before the first signal stops the program. If it returns `true`, the
   * program continues.
   */
  readonly onSignal: (listener: (by: SignalName) => boolean) => Effect.Effect<void, never, Scope.Scope>
  /** Stops the program as this signal does. */
  readonly now: (by: SignalName) => void
  /** Stops the program because it was asked to: that is no failure. */
  readonly done: () => void
}>() {
  /** Listens for the signals of the process. A second signal ends it immediately. */
  static readonly layer: Layer.Layer<Stop, never, Stdio> = Layer.scoped(
    Stop,
    Effect.gen(function*() {
      const stdio = yield* Stdio
      const stopped = yield* Deferred.make<StopReason>()
      let reason: StopReason | undefined
      const stop = (next: StopReason) => {
        reason ??= next
        // Writers that wait for a reader would otherwise delay the end as well.
        stdio.hurry()
        Deferred.unsafeDone(stopped, Effect.succeed(reason))
      }
      const listeners = new Set<(by: SignalName) => boolean>()
      const stopBy = (by: SignalName) =>
        stop({ by, exitCode: exitCodeOf(by), message: `Stopped by ${by === "SIGINT" ? "Ctrl-C" : by}.` })
      const onSignal = (by: SignalName) => {
        // What must end with the process, such as process groups of tools, listens for its exit.
        if (reason !== undefined) process.exit(exitCodeOf(by))
        if (![...listeners].some((listener) => listener(by))) stopBy(by)
      }
      const names = Object.keys(signals) as Array<SignalName>
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          for (const name of names) process.on(name, onSignal)
        }),
        () =>
          Effect.sync(() => {
            for (const name of names) process.off(name, onSignal)
          })
      )
      yield* stdio.onGone((code) =>
        stop(
          code === "EPIPE"
            ? { by: "EPIPE", exitCode: ExitCode.brokenPipe, message: "The reader of the output has closed it." }
            : { by: "output", exitCode: ExitCode.failed, message: `Standard output cannot be written (${code}).` }
        )
      )
      let reported = false
      return {
        awaited: Deferred.await(stopped),
        reason: () => reason,
        isReported: (now = false) => reported ||= now,
        onSignal: (listener) =>
          Effect.asVoid(
            Effect.acquireRelease(
              Effect.sync(() => listeners.add(listener)),
              () => Effect.sync(() => listeners.delete(listener))
            )
          ),
        now: stopBy,
        done: () => stop({ by: "request", exitCode: ExitCode.done, message: "Stopped on request." })
      }
    })
  )
}
