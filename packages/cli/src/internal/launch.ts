/** Runs a command in the process: starts and stops it, reports errors, and exits. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { DataDirs } from "@skein/config/DataDirs"
import * as LayerGraph from "@skein/core/LayerGraph"
import * as MonotonicClock from "@skein/core/MonotonicClock"
import { hideEnvironment } from "@skein/tools/Environment"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import type { CommandError, ProgramServices } from "../CommandSpec.ts"
import { ExitCode } from "../ExitCode.ts"
import { Stdio } from "../Stdio.ts"
import { Stop } from "../Stop.ts"
import { errorLine, explain, showCause } from "./explain.ts"
import { armed } from "./failpoints.ts"
import type { LogForm } from "./logging.ts"
import { IsLogged, isNotice } from "./notice.ts"
import { Redaction } from "./Redaction.ts"

/** How long a command may take to stop once it has to, in milliseconds: `skein serve --stop` waits longer. */
const patience = 8_000

/** What a user reads if it takes longer. */
const cutOff = `It has not ended within ${
  patience / 1_000
} seconds, perhaps because its database does not answer, and is cut off. Unfinished work can be resumed.`

/** How long output that was written when a signal came may take to be read, in milliseconds. */
const readerPatience = 1_000

/** Ends with the command, or soon after the program has to stop. */
const untilStopped = <A, E, R>(command: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const stop = yield* Stop
    const stdio = yield* Stdio
    const fiber = yield* Effect.fork(command)
    const stopped = Effect.disconnect(Fiber.interrupt(fiber)).pipe(
      Effect.timeoutOption(patience),
      Effect.tap((ended) => {
        if (Option.isNone(ended)) stdio.err(errorLine(cutOff))
      }),
      Effect.zipRight(Effect.interrupt)
    )
    return yield* Effect.raceFirst(Fiber.await(fiber), Effect.zipRight(stop.awaited, stopped))
  })

const report = (cause: Cause.Cause<CommandError>, { json, verbose }: LogForm) =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const { exitCode, message } = explain(cause)
    stdio.err(errorLine(message))
    if (verbose) yield* showCause(cause, json)
    return exitCode
  })

/** Waits until all output is written, but not for long after a signal: perhaps nobody reads it. */
const written = Effect.gen(function*() {
  const stdio = yield* Stdio
  const stop = yield* Stop
  const tooLate = Effect.zipRight(stop.awaited, Effect.sleep(readerPatience))
  return yield* Effect.raceFirst(Effect.as(stdio.flush, true), Effect.as(tooLate, false))
})

/** Reports the error, flushes the output, and decides the exit code. */
const finished = (exit: Exit.Exit<number, CommandError>, form: LogForm) =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const { isReported, reason } = yield* Stop
    const stopped = reason()
    const exitCode = stopped?.exitCode ?? (Exit.isSuccess(exit) ? exit.value : yield* report(exit.cause, form))
    const isWritten = yield* written
    const late = reason()
    if (late !== undefined && !isWritten) return late.exitCode
    if (late?.by !== "output" || isReported()) return exitCode
    stdio.err(errorLine(late.message))
    yield* written
    return late.exitCode
  })

/** Unhandled errors are logged as well; everything else only with `--verbose`. */
const errorsOnly = Layer.unwrapEffect(
  Effect.map(Stdio, (stdio) =>
    Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ annotations, logLevel, message }) => {
        const reported = Array.isArray(message) ? message.map(String).join(": ") : String(message)
        if (LogLevel.greaterThanEqual(logLevel, LogLevel.Error) || isNotice(annotations)) stdio.err(errorLine(reported))
      })
    ))
)

const log = (form: LogForm) =>
  Layer.unwrapEffect(Effect.map(Effect.promise(() => import("./logging.ts")), ({ layer }) => layer(form)))

/** Reports an unexpected end of the process in one line, instead of Node's own report. */
const crash = (verbose: boolean) => (cause: unknown) => {
  const { message } = explain(Cause.die(cause))
  const detail = verbose && cause instanceof Error ? `\n${errorLine(cause.stack ?? "")}` : ""
  process.stderr.write(`${errorLine(message)}${detail}\n`)
  process.exit(ExitCode.failed)
}

/** The locations of files, and the file system. */
export const platform = (database: string | undefined) =>
  Layer.mergeAll(
    DataDirs.layer(database === undefined ? {} : { database }),
    NodeFileSystem.layer,
    NodePath.layer
  )

/** Runs a command to its end and then exits the process. */
export const launch = (
  command: Effect.Effect<number | void, CommandError, ProgramServices>,
  { database, ...form }: LogForm & { readonly database: string | undefined }
): Promise<never> => {
  const { json, unwatched = false, verbose } = form
  process.on("uncaughtException", crash(verbose))
  // If nothing can wake the program any longer, it would exit as if it had succeeded.
  process.once("beforeExit", () => crash(verbose)(new Error("it waits for something that can no longer happen")))
  const program = armed(untilStopped(LayerGraph.provide(platform(database))(command))).pipe(
    Effect.exit,
    Effect.map(Exit.flatten),
    Effect.flatMap((exit) => finished(Exit.map(exit, (exitCode) => exitCode ?? ExitCode.done), form)),
    LayerGraph.provide(
      (verbose || json || unwatched ? log(form) : errorsOnly).pipe(
        Layer.provideMerge(Stop.layer),
        Layer.provideMerge(Stdio.layer),
        Layer.provideMerge(Layer.effect(Redaction, Redaction.ofProcess)),
        Layer.provideMerge(MonotonicClock.layer),
        Layer.provideMerge(Layer.succeed(IsLogged, verbose || unwatched))
      )
    ),
    Effect.exit,
    // Here, and not after the fiber: that waits for a command that was cut off. Nor are sockets waited for that are kept
    // alive, or other open handles.
    Effect.flatMap((exit) => Effect.sync(() => process.exit(Exit.isSuccess(exit) ? exit.value : ExitCode.failed)))
  )
  return Effect.runPromise(Effect.zipRight(hideEnvironment, program))
}
