/** Owns what ends the program before its time: a signal, or that its output cannot be written any more. */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { ExitCode, exitCodeOf, type SignalName, signals } from "./ExitCode.ts"
import { Stdio } from "./Stdio.ts"

/** What ended the program, and the exit code that says so. */
export interface StopReason {
  readonly by: SignalName | "EPIPE" | "output"
  readonly exitCode: number
  /** What happened, for people. */
  readonly message: string
}

/** What ends the program before its time. */
export class Stop extends Context.Tag("@skein/cli/Stop")<Stop, {
  /** Waits until the program has to stop. */
  readonly awaited: Effect.Effect<StopReason>
  /** Why it has to, once it has to. */
  readonly reason: () => StopReason | undefined
  /** Says whether somebody has told the user why already; `true` notes that it was told now. */
  readonly isReported: (now?: boolean) => boolean
  /** Asks a function before the first signal stops the program, until the scope closes: `true` means not now. */
  readonly onSignal: (listener: (by: SignalName) => boolean) => Effect.Effect<void, never, Scope.Scope>
  /** Stops the program as this signal would. */
  readonly now: (by: SignalName) => void
}>() {
  /** Listens for the signals of the process. A second one ends it at once, whatever it is doing. */
  static readonly layer: Layer.Layer<Stop, never, Stdio> = Layer.scoped(
    Stop,
    Effect.gen(function*() {
      const stdio = yield* Stdio
      const stopped = yield* Deferred.make<StopReason>()
      let reason: StopReason | undefined
      const stop = (next: StopReason) => {
        reason ??= next
        // What holds the work back until somebody reads would hold back its end as well.
        stdio.hurry()
        Deferred.unsafeDone(stopped, Effect.succeed(reason))
      }
      const listeners = new Set<(by: SignalName) => boolean>()
      const stopBy = (by: SignalName) =>
        stop({ by, exitCode: exitCodeOf(by), message: `Stopped by ${by === "SIGINT" ? "Ctrl-C" : by}.` })
      const onSignal = (by: SignalName) => {
        // What has to go with the process (process groups of tools) listens for its exit.
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
            ? { by: "EPIPE", exitCode: ExitCode.brokenPipe, message: "Nobody reads the output any more." }
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
        now: stopBy
      }
    })
  )
}
