/** What `skein run` and `skein sessions resume` do. */
import { failpoint } from "@skein/core/Failpoints"
import * as LayerGraph from "@skein/core/LayerGraph"
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Scope } from "effect/Scope"
import type { CommandError, Input, ProgramServices } from "../../CommandSpec.ts"
import { Stdio, type Streams } from "../../Stdio.ts"
import { Stop } from "../../Stop.ts"
import { storage, withSandbox } from "../app.ts"
import { findServerFor, sameWay } from "../attach/attach.ts"
import { errorLine, explain, showCause } from "../explain.ts"
import type { promptFlags } from "../flags.ts"
import { closingLines } from "./closing.ts"
import { json, type Presenter, quiet, type Shown } from "./presenter.ts"
import { Denials, LeftOut, leftOutText, missedText, type Progress } from "./progress.ts"
import type { RunInput, Silence } from "./prompt.ts"
import { deleted, nothing, ofError, ofLeaving, ofStop, type RunResult, unconfirmed, unstored } from "./result.ts"

const still = (presenter: Presenter): Shown => ({ presenter, attend: Effect.void, canAsk: false })

/** A terminal that can only print lines. */
const isDumb = Effect.orElseSucceed(
  Effect.map(Config.withDefault(Config.string("TERM"), ""), (name) => name === "dumb"),
  () => false
)

/** Loads the presenter; `way` are the flags with which other commands reach the session. */
const shownAs = (
  format: "default" | "json" | "quiet",
  stdio: Streams,
  way: string
): Effect.Effect<Shown, never, Scope> =>
  Effect.gen(function*() {
    if (format !== "default") return still((format === "quiet" ? quiet : json)(stdio))
    const { error, output } = stdio.isTerminal
    if (!output || !error || (yield* isDumb)) {
      return still((yield* Effect.promise(() => import("./plain.ts"))).plain(stdio))
    }
    const { live } = yield* Effect.promise(() => import("./live.ts"))
    return yield* live(stdio, way)
  })

/** The result of a run, however it ended. */
const concluded = (exit: Exit.Exit<RunResult, CommandError>, progress: Progress) =>
  Effect.gen(function*() {
    const { goesOnAt, intact, isDeleted, isStopConfirmed, left } = progress
    const reason = (yield* Stop).reason()
    const result = Exit.isSuccess(exit)
      ? exit.value
      : Cause.isInterrupted(exit.cause) && reason !== undefined
      ? goesOnAt === undefined ? ofStop(left, reason) : ofLeaving(left, reason, goesOnAt)
      : ofError(left, explain(exit.cause))
    const known = isStopConfirmed || goesOnAt !== undefined ? result : unconfirmed(result)
    const { error, sessionID } = known
    if (error !== undefined && sessionID !== undefined && (yield* isDeleted(sessionID))) return deleted(known)
    return yield* Effect.match(intact, {
      onFailure: (gone) => unstored(known, gone),
      onSuccess: () => known
    })
  })

/** Runs it on a server if one holds the database, or else in this process. */
const work = (input: RunInput, silence: Silence, shown: Shown, progress: Progress) =>
  Effect.gen(function*() {
    const found = yield* findServerFor(input.flags, shown.presenter.note)
    if (found !== undefined) {
      const { runAttached } = yield* Effect.promise(() => import("./attached.ts"))
      return yield* runAttached(input, silence, found, shown, progress)
    }
    const [{ runHere }, stored] = yield* Effect.zip(
      Effect.promise(() => import("./here.ts")),
      LayerGraph.build(storage)
    )
    return yield* Effect.provide(runHere(input, silence, shown, progress), stored)
  })

/** Runs it. */
export const executeRun = (
  input: RunInput,
  silence: Silence = "needs a prompt"
): Effect.Effect<number, CommandError, ProgramServices> =>
  Effect.scoped(Effect.gen(function*() {
    const { flags } = input
    const stdio = yield* Stdio
    const stop = yield* Stop
    const way = sameWay(flags)
    const shown = yield* shownAs(flags.format, stdio, way)
    const progress: Progress = {
      left: nothing,
      after: Effect.void,
      intact: Effect.void,
      isDeleted: () => Effect.succeed(false),
      isOver: false,
      isAuto: false,
      goesOnAt: undefined,
      isStopConfirmed: true,
      denials: new Denials(),
      leftOut: new LeftOut(stdio)
    }
    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const exit = yield* Effect.exit(
          restore(withSandbox(flags.sandbox)(work(input, silence, shown, progress)))
        )
        const { count, missed } = progress.leftOut
        const result = { ...(yield* concluded(exit, progress)), ...(count === 0 ? {} : { leftOut: count }) }
        shown.presenter.end(result)
        yield* failpoint("ack_sent")
        progress.isOver = true
        const readerIsGone = stop.reason()?.by === "EPIPE"
        const onTerminal = stdio.isTerminal.output && stdio.isTerminal.error
        const asked = { auto: progress.isAuto, canAsk: shown.canAsk, onTerminal, readerIsGone, way }
        if (stop.reason() !== undefined) stop.isReported(true)
        if (count > 0 && !readerIsGone) stdio.err(errorLine(leftOutText(count)))
        if (missed !== undefined && !readerIsGone) stdio.err(errorLine(missedText(missed)))
        for (const line of closingLines(result, progress.denials, asked)) stdio.err(line)
        if (Exit.isFailure(exit) && flags.verbose) yield* showCause(exit.cause, flags["log-format"] === "json")
        // A person who has read the answer may close the terminal.
        if (stop.reason() === undefined) yield* Effect.exit(restore(progress.after))
        return result.exitCode
      })
    )
  }))

/** Runs it. */
export const resumeSession = ({ flags, operands: [session, ...operands] }: Input<typeof promptFlags>) =>
  executeRun(
    { flags: { ...flags, session, continue: false, fork: false, title: undefined, command: undefined }, operands },
    "may be silent"
  )
