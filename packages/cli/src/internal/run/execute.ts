/** What `skein run` does: finds or makes a session, prompts it, shows what happens, and says how it ended. */
import { Agent } from "@skein/core/Agent"
import { Bus } from "@skein/core/Bus"
import { Config } from "@skein/core/Config"
import { Session } from "@skein/core/Session"
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type { CommandError, Input } from "../../CommandSpec.ts"
import type { runFlags } from "../../commands/run.ts"
import { Stdio } from "../../Stdio.ts"
import { Stop } from "../../Stop.ts"
import { UsageError } from "../../UsageError.ts"
import { limitsOf, platform, services, settle, storage } from "../app.ts"
import { formatDuration } from "../duration.ts"
import { errorLine, explain } from "../explain.ts"
import { Denials } from "./denials.ts"
import { checkModels, readModel } from "./models.ts"
import type { Presenter, Streams } from "./presenter.ts"
import { nothing, ofError, ofStop, ofTimeout, ofTurn, type RunResult } from "./result.ts"
import { readStdin } from "./stdin.ts"
import { findTarget, type Target } from "./target.ts"
import { runTurn, unfinished } from "./turn.ts"

/** What was typed after `skein run`. */
export type RunInput = Input<typeof runFlags>

/** A run as far as it has come. */
interface Progress {
  session: SessionInfo | undefined
  readonly denials: Denials
}

const presenterOf = (format: RunInput["flags"]["format"], stdio: Streams): Effect.Effect<Presenter> => {
  switch (format) {
    case "quiet":
      return Effect.map(Effect.promise(() => import("./quiet.ts")), ({ quiet }) => quiet(stdio))
    case "json":
      return Effect.map(Effect.promise(() => import("./json.ts")), ({ json }) => json(stdio))
    case "default":
      return Effect.map(Effect.promise(() => import("./quiet.ts")), ({ quiet }) => quiet(stdio))
  }
}

/** The agents, of which the one at the root may make only so many steps. */
const bounded = (agents: ReadonlyArray<AgentInfo>, name: string, steps: number | undefined) =>
  steps === undefined ? agents : agents.map((agent) => agent.name === name ? { ...agent, steps } : agent)

const prompted = Effect.fnUntraced(
  function*({ flags, operands }: RunInput, target: Target, presenter: Presenter, progress: Progress) {
    const stdio = yield* Stdio
    const session = yield* Session
    const agents = yield* Agent
    const bus = yield* Bus
    const { settings } = yield* Config
    const piped = yield* Effect.fork(readStdin(stdio, operands.length > 0))
    const agent = yield* agents.get(flags.agent ?? target.session?.agent ?? settings.default_agent)
    const model = yield* readModel(flags.model)
    const fallback = yield* checkModels(model ?? target.session?.model, agent)
    if (fallback?.startsWith("offline/") === true) {
      presenter.note(`No model is configured: ${fallback} answers, which is no AI. Set OPENAI_API_KEY, or \`model\` in skein.json.`)
    }
    const text = [operands.join(" "), yield* Fiber.join(piped)].filter((part) => part.trim() !== "").join("\n\n")
    if (text === "" && flags.file.length === 0) {
      return yield* new UsageError({
        message: "There is no prompt. Write it after `skein run`, or pipe it in: skein run \"What does this project do?\""
      })
    }
    yield* bus.listen({ all: true }, (event) => {
      progress.denials.see(event)
      presenter.event(event)
    })
    const current = target.session ?? (yield* session.create({
      directory: target.directory,
      projectID: target.projectID,
      agent: agent.name,
      ...(model === undefined ? {} : { model }),
      ...(flags.title === undefined ? {} : { title: flags.title })
    }))
    progress.session = current
    presenter.begin(current)
    const turn = yield* runTurn(current, [{ type: "text", text }], {
      ...(flags.agent === undefined ? {} : { agent: flags.agent }),
      ...(model === undefined ? {} : { model })
    }, flags.timeout)
    return turn === undefined
      ? ofTimeout(yield* unfinished(current), formatDuration(flags.timeout ?? 0))
      : ofTurn(turn, progress.denials.count)
  }
)

const concluded = (exit: Exit.Exit<RunResult, CommandError>, progress: Progress) =>
  Effect.gen(function*() {
    if (Exit.isSuccess(exit)) return exit.value
    const stop = yield* Stop
    const reason = stop.reason()
    const known = progress.session === undefined ? nothing : { ...nothing, sessionID: progress.session.id }
    return Cause.isInterruptedOnly(exit.cause) && reason !== undefined
      ? ofStop(known, reason)
      : ofError(known, explain(exit.cause))
  })

/** Runs it. */
export const executeRun = (input: RunInput): Effect.Effect<number, CommandError, Stdio | Stop> =>
  Effect.scoped(Effect.gen(function*() {
    const { flags } = input
    const stdio = yield* Stdio
    const presenter = yield* presenterOf(flags.format, stdio)
    const progress: Progress = { session: undefined, denials: new Denials() }
    const foundation = Layer.build(Layer.provideMerge(storage, platform({ database: flags.db })))
    const work = Effect.flatMap(foundation, (context) => Effect.provide(Effect.gen(function*() {
      const target = yield* findTarget(flags)
      const settled = yield* settle(target.directory, limitsOf(flags))
      const root = flags.agent ?? target.session?.agent ?? settled.settings.default_agent
      const asks = flags.auto ? "auto" : "nobody"
      const context = yield* Layer.build(services(settled, bounded(settled.agents, root, flags["max-steps"]), asks))
      return yield* Effect.provide(prompted(input, target, presenter, progress), context)
    }), context))
    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const exit = yield* Effect.exit(restore(work))
        const result = yield* concluded(exit, progress)
        presenter.end(result)
        if (result.error !== undefined) stdio.err(errorLine(result.error.message))
        if (Exit.isFailure(exit) && flags.verbose) stdio.err(errorLine(Cause.pretty(exit.cause)))
        return result.exitCode
      })
    )
  }))
