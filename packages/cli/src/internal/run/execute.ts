/** What `skein run` does: finds or makes a session, prompts it, shows what happens, and says how it ended. */
import { formatIssue } from "@skein/config/ConfigError"
import { summarise } from "@skein/config/Notes"
import { Agent } from "@skein/core/Agent"
import { Bus } from "@skein/core/Bus"
import type { Command } from "@skein/core/Command"
import { Config } from "@skein/core/Config"
import { failpoint, Failpoints } from "@skein/core/Failpoints"
import type { Hook } from "@skein/core/Hooks"
import { Session, type Turn } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { Budget } from "@skein/domain/Budget"
import type { Mode } from "@skein/domain/Mode"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { formatDuration } from "@skein/view/Numbers"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type { CommandError } from "../../CommandSpec.ts"
import { Stdio } from "../../Stdio.ts"
import { Stop, type StopReason } from "../../Stop.ts"
import { UsageError } from "../../UsageError.ts"
import { limitsOf, platform, services, settle, storage } from "../app.ts"
import { errorLine, explain, showCause } from "../explain.ts"
import { hideConfigured } from "../Redaction.ts"
import { telemetry } from "../telemetry/telemetry.ts"
import { closingLines } from "./closing.ts"
import { continueSession } from "./continueSession.ts"
import { Denials } from "./denials.ts"
import { leaveBackground } from "./leaveBackground.ts"
import { LeftOut, leftOutText } from "./leftOut.ts"
import { agentIn, storedMode, typedMode } from "./mode.ts"
import { checkModels, defaultNote, readModel } from "./models.ts"
import { type Asked, commandOf, prompt, readPrompt, type RunInput, type Silence } from "./prompt.ts"
import {
  nothing,
  ofError,
  ofStop,
  ofTimeout,
  ofTurn,
  type RunResult,
  type Unfinished,
  unstored,
  withInterrupted,
  withLeftOut
} from "./result.ts"
import { type Shown, shownAs } from "./shownAs.ts"
import { findTarget, type Target } from "./target.ts"
import { answered, runTurn } from "./turn.ts"

/** How long a summary that is being written may take once the answer was told, in milliseconds. */
const summaryPatience = 10_000

/** A run as far as it has come. */
interface Progress {
  /** What to show if the run does not finish. */
  left: Unfinished
  /** What is waited for when the result was told: from then on nothing more is. */
  after: Effect.Effect<void>
  isOver: boolean
  /** Whether it works in the mode `auto`. */
  isAuto: boolean
  /** Fails where the database is gone, and all that was stored. */
  intact: Effect.Effect<void, StorageError>
  readonly denials: Denials
  readonly leftOut: LeftOut
}

/** The agents, of which the one at the root may make only so many steps. */
const bounded = (agents: ReadonlyArray<AgentInfo>, name: string, steps: number | undefined) =>
  steps === undefined ? agents : agents.map((agent) => agent.name === name ? { ...agent, steps } : agent)

/** What the session may use from now on, where a flag says so; what else bounded it still does. */
const budgetOf = (
  { "budget-tokens": tokens, "budget-usd": usd }: RunInput["flags"],
  before: Budget | undefined
): { readonly budget?: Budget } =>
  tokens === undefined && usd === undefined ? {} : {
    budget: {
      ...before,
      ...(tokens === undefined ? {} : { tokens }),
      ...(usd === undefined ? {} : { usd })
    }
  }

const colorsOf = (agents: ReadonlyArray<AgentInfo>) =>
  new Map(agents.flatMap(({ color, name }) => color === undefined ? [] : [[name, color] as const]))

/** Refuses to prompt an agent that only other agents may start. */
const checkPrimary = (agent: AgentInfo, agents: ReadonlyArray<AgentInfo>): Effect.Effect<void, UsageError> => {
  if (!agent.hidden && agent.mode !== "subagent") return Effect.void
  const primary = agents.filter(({ hidden, mode }) => !hidden && mode !== "subagent").map(({ name }) => name).toSorted()
  return new UsageError({
    message: `--agent: ${agent.name} is ${agent.hidden ? "an internal agent" : "a subagent"} and cannot be prompted${
      agent.hidden ? "" : ` directly; name it in a prompt as @${agent.name}`
    }. Primary agents: ${primary.join(", ")}.`
  })
}

/** A copy of a session, under the title that was typed for it. */
const forked = Effect.fnUntraced(function*(original: SessionInfo, title: string | undefined) {
  const session = yield* Session
  const { id } = yield* session.fork(original.id)
  if (title !== undefined) yield* session.rename(id, title)
  return yield* session.get(id)
})

/** Where a run works, and the mode that was typed for it. */
interface Place {
  readonly target: Target
  readonly typed: Mode | undefined
}

/** Who stopped a run, in the outcomes of its tasks. */
const stopper = (by: StopReason["by"] | undefined): string =>
  by === undefined ? "the time limit of the run" : by === "SIGINT" ? "the user" : by

/** The turn from a session that is ready to its result. */
const prompted = Effect.fnUntraced(function*(
  { flags }: RunInput,
  { target, typed }: Place,
  reading: Effect.Effect<Asked | undefined, CommandError>,
  { attend, presenter, presenter: { note } }: Shown,
  progress: Progress
) {
  const session = yield* Session
  const agents = yield* Agent
  const bus = yield* Bus
  const { settings } = yield* Config
  const agent = yield* agents.get(flags.agent ?? agentIn(typed, target.session, settings.default_agent))
  if (flags.agent !== undefined) yield* checkPrimary(agent, agents.all)
  const model = yield* readModel(flags.model)
  const fallback = yield* checkModels(model ?? target.session?.model, agent)
  // The user who continues a session knows its model.
  let modelNote = fallback === undefined || target.session !== undefined ? undefined : yield* defaultNote(fallback)
  const asked = yield* reading
  // What is not there is told before there is a session.
  const command = asked === undefined ? undefined : yield* commandOf(asked, target.directory, presenter.note)
  const points = yield* Failpoints
  const stdio = yield* Stdio
  const stop = yield* Stop
  yield* bus.listen(presenter.deltas ? { all: true } : { all: true, deltas: false }, (event) => {
    // By then nothing is left that could refuse what was typed.
    if (event.type === "message.updated" && modelNote !== undefined) {
      presenter.note(modelNote)
      modelNote = undefined
    }
    progress.denials.see(event)
    if (!progress.isOver && !progress.leftOut.takes(event)) presenter.event(event)
    points.hit("ack_sent")
  }, { isFull: stdio.isFull, relieved: stdio.drained })
  const begun = target.session === undefined
    ? yield* session.create({
      directory: target.directory,
      projectID: target.projectID,
      agent: typed === "plan" ? settings.default_agent : agent.name,
      ...(typed === undefined ? {} : { mode: typed }),
      ...(model === undefined ? {} : { model }),
      ...(flags.title === undefined ? {} : { title: flags.title })
    })
    : flags.fork
    ? yield* forked(target.session, flags.title)
    : target.session
  const current = typed === undefined || target.session === undefined ? begun : yield* session.setMode(begun.id, typed)
  progress.left = { ...nothing, sessionID: current.id }
  progress.after = session.summarized(current.id).pipe(
    Effect.timeoutOption(summaryPatience),
    Effect.catchAll((error) => Effect.logWarning("No summary", error.message))
  )
  presenter.begin(current, colorsOf(agents.all))
  const mode = typed ?? (yield* storedMode(current))
  if (mode !== undefined && mode !== "ask") presenter.note(`mode: ${mode}`)
  yield* attend
  // While models are waited for there is time for it.
  yield* Effect.forkScoped(
    Effect.flatMap(Effect.promise(() => import("../prune/daily.ts")), ({ forgetDaily }) => forgetDaily)
  )
  const options = {
    ...(flags.agent === undefined ? {} : { agent: flags.agent }),
    ...(model === undefined ? {} : { model }),
    ...budgetOf(flags, current.budget?.limit)
  }
  const going: Effect.Effect<Turn, CommandError, Command | Session> = asked === undefined
    ? continueSession(current, presenter.note)
    : answered({ session: current, prompt: prompt(current, asked, command, options, note), waits: !flags["no-wait"] })
  const turn = yield* runTurn({
    session: current,
    work: going,
    timeout: flags.timeout,
    late: stdio.hurry,
    stoppedBy: () => stopper(stop.reason()?.by),
    left: (unfinished) => progress.left = unfinished
  })
  if (turn === undefined) return ofTimeout(progress.left, formatDuration(flags.timeout ?? 0))
  const result = ofTurn(turn, progress.denials.count)
  return flags["no-wait"] ? withInterrupted(result, yield* leaveBackground(current)) : result
})

/** The result of a run, however it ended. */
const concluded = (exit: Exit.Exit<RunResult, CommandError>, { intact, left }: Progress) =>
  Effect.gen(function*() {
    const reason = (yield* Stop).reason()
    const result = Exit.isSuccess(exit)
      ? exit.value
      : Cause.isInterrupted(exit.cause) && reason !== undefined
      ? ofStop(left, reason)
      : ofError(left, explain(exit.cause))
    return yield* Effect.match(intact, {
      onFailure: (gone) => unstored(result, gone),
      onSuccess: () => result
    })
  })

const work = (input: RunInput, silence: Silence, shown: Shown, progress: Progress) =>
  Effect.gen(function*() {
    const { flags } = input
    const typed = yield* typedMode(flags)
    progress.intact = (yield* SessionStorage).intact ?? Effect.void
    const reading = yield* Effect.forkScoped(readPrompt(input, silence))
    const target = yield* findTarget(flags)
    const settled = yield* settle(target.directory, limitsOf(flags))
    const { line, loud } = summarise(settled.warnings, true)
    for (const said of [...loud.map(formatIssue), ...(line === undefined ? [] : [line])]) shown.presenter.note(said)
    const root = flags.agent ?? agentIn(typed, target.session, settled.settings.default_agent)
    progress.isAuto = (typed ?? (yield* storedMode(target.session))) === "auto"
    const asks = progress.isAuto ? "auto" : shown.canAsk ? "person" : "nobody"
    yield* hideConfigured(settled.settings)
    const watched = yield* telemetry(settled.settings.telemetry, shown.presenter.note)
    const heard = flags.verbose
      ? yield* Effect.map(
        Effect.promise(() => import("./hookLines.ts")),
        ({ withLines }) => (hooks: ReadonlyArray<Hook>) => withLines(hooks, shown.presenter.hook)
      )
      : undefined
    const context = yield* Layer.build(
      services(settled, bounded(settled.agents, root, flags["max-steps"]), asks, heard, shown.presenter.note)
    )
    return yield* watched(
      Effect.provide(prompted(input, { target, typed }, Fiber.join(reading), shown, progress), context)
    )
  })

/** Runs it. */
export const executeRun = (
  input: RunInput,
  silence: Silence = "needs a prompt"
): Effect.Effect<number, CommandError, Stdio | Stop> =>
  Effect.scoped(Effect.gen(function*() {
    const { flags } = input
    const stdio = yield* Stdio
    const stop = yield* Stop
    const shown = yield* shownAs(flags.format, stdio)
    const progress: Progress = {
      left: nothing,
      after: Effect.void,
      intact: Effect.void,
      isOver: false,
      isAuto: false,
      denials: new Denials(),
      leftOut: new LeftOut(stdio)
    }
    const foundation = Layer.build(Layer.provideMerge(storage, platform({ database: flags.db })))
    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const exit = yield* Effect.exit(
          restore(
            Effect.flatMap(foundation, (context) => Effect.provide(work(input, silence, shown, progress), context))
          )
        )
        const result = withLeftOut(yield* concluded(exit, progress), progress.leftOut.count)
        shown.presenter.end(result)
        yield* failpoint("ack_sent")
        progress.isOver = true
        const readerIsGone = stop.reason()?.by === "EPIPE"
        const onTerminal = stdio.isTerminal.output && stdio.isTerminal.error
        const asked = { auto: progress.isAuto, canAsk: shown.canAsk, onTerminal, readerIsGone }
        if (stop.reason() !== undefined) stop.isReported(true)
        if (progress.leftOut.count > 0 && !readerIsGone) stdio.err(errorLine(leftOutText(progress.leftOut.count)))
        for (const line of closingLines(result, progress.denials, asked)) stdio.err(line)
        if (Exit.isFailure(exit) && flags.verbose) yield* showCause(exit.cause, flags["log-format"] === "json")
        // A person who has the answer may leave.
        if (Exit.isSuccess(exit)) yield* Effect.exit(restore(progress.after))
        return result.exitCode
      })
    )
  }))
