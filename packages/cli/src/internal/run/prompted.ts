/** Runs a turn on a backend, in this process or on a server: from the session to the result. */
import { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import { allPages, type NewSession, type Turn } from "@skein/backend/Sessions"
import { type ConnectedServer, type Connection, connectionText } from "@skein/backend/Watching"
import { Failpoints } from "@skein/core/Failpoints"
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { Event } from "@skein/domain/Event"
import type { Mode } from "@skein/domain/Mode"
import { formatRef } from "@skein/domain/Model"
import type { TaskRun } from "@skein/domain/Outcome"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { TreeSnapshot } from "@skein/domain/TreeSnapshot"
import { formatDuration } from "@skein/view/Numbers"
import { PendingAsks } from "@skein/view/PendingAsks"
import * as Effect from "effect/Effect"
import type { CommandError } from "../../CommandSpec.ts"
import { UsageError } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { Stop, type StopReason } from "../../Stop.ts"
import { agentIn, readModel, seesFiles, storedMode } from "./choices.ts"
import type { Presenter, Shown } from "./presenter.ts"
import type { Progress } from "./progress.ts"
import { type Answering, type Asked, budgetOf, commandOf, prompt, type RunInput } from "./prompt.ts"
import { type InterruptedTask, nothing, ofTimeout, ofTurn, type RunResult } from "./result.ts"
import { forked, onBackend, type Target } from "./target.ts"
import { answered, continueSession, runTurn } from "./turn.ts"

/** How long a title or a summary may take after the result was printed, in milliseconds. */
const summaryPatience = 10_000

/** Where a run works, and the mode on the command line. */
export interface Place {
  readonly target: Target
  readonly typed: Mode | undefined
}

/** What differs between runs in this process and those on a server. */
export interface Ground {
  /** Says which model answers, and what chose it; `agent` is the one that it answers, unless the session names the model. */
  readonly modelNote: (model: string, agent: string | undefined) => Effect.Effect<string, CommandError>
  /** Work in parallel with the turn, once the session is known. */
  readonly beside: Effect.Effect<void>
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

/** Checks before anything is stored: the agent, its model, and what the prompt names. */
const checked = Effect.fnUntraced(function*(
  { flags }: RunInput,
  { target, typed }: Place,
  { modelNote }: Ground,
  reading: Effect.Effect<Asked | undefined, CommandError>,
  presenter: Presenter
) {
  const backend = yield* Backend
  const projects = target.session === undefined ? backend.projects : backend.projects.of(target.session.id)
  const { agents, defaultAgent } = yield* projects.agents(target.directory)
  const agent = yield* projects.agent(
    target.directory,
    flags.agent ?? agentIn(typed, target.session, defaultAgent)
  )
  if (flags.agent !== undefined) yield* checkPrimary(agent, agents)
  const model = yield* readModel(flags.model)
  const usual = yield* projects.modelFor(target.directory, {
    model: model ?? target.session?.model,
    agent: agent.name
  })
  // Files of the project may have chosen it. What the command line names needs no line.
  const isNamed = model !== undefined || usual.model === undefined
  const said = isNamed ? undefined : yield* modelNote(
    formatRef(usual.model),
    target.session?.model === undefined ? agent.name : undefined
  )
  const asked = yield* reading
  const command = asked === undefined
    ? undefined
    : yield* commandOf(
      asked,
      { projects, directory: target.directory, seesFiles: yield* seesFiles(target.session, target.directory) },
      presenter.note
    )
  return { agents, agent, defaultAgent, model, modelNote: said, asked, command }
})

/** Passes the questions that were already pending to the presenter. */
const tellWaiting = (waiting: PendingAsks, presenter: Presenter, { denials }: Progress): void => {
  if (presenter.asked === undefined) return
  for (const ask of waiting.all) {
    if (ask.type === "permission") denials.asked(ask)
    presenter.asked(ask)
  }
}

/** Passes events to the presenter, and to everything else that needs them. */
const watcherOf = Effect.fnUntraced(function*(
  presenter: Presenter,
  progress: Progress,
  waiting: PendingAsks,
  modelNote: string | undefined
) {
  const stdio = yield* Stdio
  const points = yield* Failpoints
  const backend = yield* Backend
  let note = modelNote
  const connection = (now: Connection, server: ConnectedServer) => {
    if (progress.isOver) return
    if (now === "lost") {
      return presenter.note(
        `The connection to the server at ${server.url} is lost. Reconnecting to it, or to a server of its cluster with the same --token-file; the turn continues.`
      )
    }
    // The run ends, and says why.
    if (now === "refused") return
    if (now !== "back") return presenter.note(connectionText(now, server))
    // A server that was started again, or another one of its cluster.
    presenter.note(`Connected to the server again.${server.isOther ? ` It is ${server.url} now.` : ""}`)
  }
  return {
    ...(presenter.deltas ? {} : { deltas: false as const }),
    // In this process, nothing can have been asked before.
    ...(presenter.asked === undefined || backend.where._tag === "Local" ? {} : {
      snapshot: ({ asks }: TreeSnapshot) => {
        waiting.replace(asks.filter(({ abandoned }) => abandoned !== true))
        tellWaiting(waiting, presenter, progress)
      }
    }),
    event: (event: Event) => {
      // By then the prompt can no longer be refused.
      if (event.type === "message.updated" && note !== undefined) {
        presenter.note(note)
        note = undefined
      }
      waiting.see(event)
      progress.denials.see(event)
      if (!progress.isOver && !progress.leftOut.takes(event)) presenter.event(event)
      points.hit("ack_sent")
    },
    missed: (reason: string) => void (progress.leftOut.missed = reason),
    connection,
    pressure: { isFull: stdio.isFull, relieved: stdio.drained }
  }
})

type Checked = Effect.Effect.Success<ReturnType<typeof checked>>

/** The session to prompt. Its events arrive from the first on, or from now on for an existing session. */
const opened = Effect.fnUntraced(function*(
  { flags }: RunInput,
  { target, typed }: Place,
  { agent, defaultAgent, model, modelNote }: Checked,
  presenter: Presenter,
  progress: Progress,
  waiting: PendingAsks
) {
  const { sessions, watch } = yield* Backend
  const watcher = yield* watcherOf(presenter, progress, waiting, modelNote)
  const original = target.session
  const wanted: NewSession = {
    directory: target.directory,
    agent: typed === "plan" ? defaultAgent : agent.name,
    ...(typed === undefined ? {} : { mode: typed }),
    ...(model === undefined ? {} : { model }),
    ...(flags.title === undefined ? {} : { title: flags.title })
  }
  const context = yield* Effect.context<Backend>()
  if (original === undefined) return yield* watch.made(sessions.create(wanted), watcher)
  const begun = flags.fork
    ? yield* watch.made(Effect.provide(forked(original, flags.title), context), watcher)
    : original
  if (!flags.fork) yield* watch.tree(original.id, watcher)
  return typed === undefined ? begun : yield* sessions.setMode(begun.id, typed)
})

/** Who stopped a run, for the outcomes of its tasks. */
const stopper = (by: StopReason["by"] | undefined): string =>
  by === undefined ? "the time limit of the run" : by === "SIGINT" ? "the user" : by

const taskOf = ({ agent, description, id, taskID }: TaskRun): InterruptedTask => ({
  task_id: taskID,
  run_id: id,
  agent,
  description
})

/** Leaves the background work: in this process it is interrupted, on a server it continues. */
const left = Effect.fnUntraced(function*(result: RunResult, current: SessionInfo) {
  const { sessions, tasks, where } = yield* Backend
  const interrupted = yield* sessions.leave(current.id)
  if (where._tag === "Local") {
    return interrupted.length === 0
      ? result
      : { ...result, interrupted: interrupted.map(taskOf) }
  }
  const runs = yield* allPages((page) => tasks.list(current.id, page))
  const continuing = runs.filter(({ state }) => state !== "settled").map(taskOf)
  return continuing.length === 0 ? result : { ...result, continuing }
})

/** Runs the turn, from a ready session to the result. */
export const prompted = Effect.fnUntraced(function*(
  input: RunInput,
  place: Place,
  ground: Ground,
  reading: Effect.Effect<Asked | undefined, CommandError>,
  { attend, canAsk, presenter, presenter: { note } }: Shown,
  progress: Progress
) {
  const { flags } = input
  const backend = yield* Backend
  const stdio = yield* Stdio
  const stop = yield* Stop
  const found = yield* checked(input, place, ground, reading, presenter)
  const { agents, asked, command, model } = found
  const waiting = new PendingAsks()
  const current = yield* opened(input, place, found, presenter, progress, waiting)
  progress.left = { ...nothing, sessionID: current.id }
  progress.after = backend.sessions.summarized(current.id).pipe(
    Effect.timeoutOption(summaryPatience),
    Effect.catchAll((error) => Effect.logWarning("No summary", error.message))
  )
  const runs = place.target.session === undefined || flags.fork
    ? []
    : yield* allPages((page) => backend.tasks.list(current.id, page))
  presenter.begin(current, colorsOf(agents), runs.filter(({ state }) => state !== "settled"))
  tellWaiting(waiting, presenter, progress)
  const mode = place.typed ?? (yield* storedMode(current, onBackend(backend)))
  if (mode !== undefined && mode !== "ask") note(`mode: ${mode}`)
  yield* attend
  yield* Effect.forkScoped(ground.beside)
  const unattended = canAsk || mode === "auto" ? undefined : flags["no-wait"] ? "turn" : "tree"
  // The session keeps its other limits.
  const limit = budgetOf(flags)
  const answering: Answering = {
    ...(flags.agent === undefined ? {} : { agent: flags.agent }),
    ...(model === undefined ? {} : { model }),
    ...(limit === undefined ? {} : { budget: { ...current.budget?.limit, ...limit } }),
    ...(unattended === undefined ? {} : { unattended })
  }
  const work: Effect.Effect<Turn, BackendError | CommandError, Backend> = asked === undefined
    ? continueSession(current, unattended, note)
    : answered({ session: current, prompt: prompt(current, asked, command, answering, note), waits: !flags["no-wait"] })
  const turn = yield* runTurn({
    session: current,
    work,
    timeout: flags.timeout,
    late: stdio.hurry,
    stoppedBy: () => progress.goesOnAt === undefined ? stopper(stop.reason()?.by) : undefined,
    left: (unfinished, isStopConfirmed) => {
      progress.left = unfinished
      progress.isStopConfirmed = isStopConfirmed
    }
  })
  if (turn === undefined) return ofTimeout(progress.left, formatDuration(flags.timeout ?? 0))
  const result = ofTurn(turn, progress.denials.count)
  return flags["no-wait"] ? yield* left(result, current) : result
})
