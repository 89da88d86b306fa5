/** Runs a command in the process: starts it, stops it where it has to stop, says what went wrong, and exits. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type { CommandError } from "../CommandSpec.ts"
import { ExitCode } from "../ExitCode.ts"
import { Stdio } from "../Stdio.ts"
import { Stop } from "../Stop.ts"
import { errorLine, explain } from "./explain.ts"

/** How long a command that was told to stop may take, in milliseconds. */
const patience = 6_000

/** Ends with the command, or soon after the program was told to stop. */
const untilStopped = <A, E, R>(command: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const stop = yield* Stop
    const fiber = yield* Effect.fork(command)
    const stopped = Effect.zipRight(
      Effect.timeoutOption(Effect.disconnect(Fiber.interrupt(fiber)), patience),
      Effect.interrupt
    )
    return yield* Effect.raceFirst(Fiber.await(fiber), Effect.zipRight(stop.awaited, stopped))
  })

const report = (cause: Cause.Cause<CommandError>, verbose: boolean) =>
  Effect.map(Stdio, (stdio) => {
    const { exitCode, message } = explain(cause)
    stdio.err(errorLine(message))
    if (verbose) stdio.err(errorLine(Cause.pretty(cause, { renderErrorCause: true })))
    return exitCode
  })

const finished = (exit: Exit.Exit<number, CommandError>, verbose: boolean) =>
  Effect.gen(function*() {
    const stop = (yield* Stop).reason()
    if (stop !== undefined) return stop.exitCode
    return Exit.isSuccess(exit) ? exit.value : yield* report(exit.cause, verbose)
  })

/** Runs a command to its end and then exits the process. */
export const launch = (
  command: Effect.Effect<number, CommandError, Stdio | Stop>,
  options: { readonly verbose: boolean }
): Promise<never> => {
  const logging = options.verbose
    ? Layer.unwrapEffect(Effect.map(Effect.promise(() => import("./verboseLogger.ts")), ({ layer }) => layer))
    : Logger.replace(Logger.defaultLogger, Logger.none)
  const program = untilStopped(command).pipe(
    Effect.exit,
    Effect.map(Exit.flatten),
    Effect.flatMap((exit) => finished(exit, options.verbose)),
    Effect.tap(() => Effect.flatMap(Stdio, (stdio) => stdio.flush)),
    Effect.provide(logging),
    Effect.provide(Layer.provideMerge(Stop.layer, Stdio.layer))
  )
  // Where nothing is left that could wake the program, it would end as if all were well.
  process.once("beforeExit", () => {
    process.stderr.write(
      errorLine("The program waited for something that cannot come any more. Please report it.") + "\n"
    )
    process.exit(ExitCode.failed)
  })
  // Sockets that are kept alive, and whatever else still waits, need not be waited for.
  return Effect.runPromiseExit(program).then((exit) =>
    process.exit(Exit.isSuccess(exit) ? exit.value : ExitCode.failed)
  )
}
