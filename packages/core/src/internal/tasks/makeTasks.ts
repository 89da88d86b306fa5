/** The supervisor of subagents: from a request to the outcome that is stored and told. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import { Ids } from "@skein/domain/Id"
import type { Outcome, TaskRun } from "@skein/domain/Outcome"
import type { Ruleset } from "@skein/domain/Rule"
import { since } from "@skein/domain/Usage"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import { Agent } from "../../Agent.ts"
import { Bus } from "../../Bus.ts"
import { Config } from "../../Config.ts"
import { Governor } from "../../Governor.ts"
import { Journal } from "../../Journal.ts"
import { Session } from "../../Session.ts"
import { TaskRefused } from "../../TaskError.ts"
import type { TaskProgress, TaskRequest } from "../../Tasks.ts"
import { firstOf } from "../firstOf.ts"
import { type Live, pathOf, rootOf } from "../session/live.ts"
import { subjectOf } from "../session/offer.ts"
import { SessionTable } from "../session/SessionTable.ts"
import { setStatus } from "../session/setStatus.ts"
import { traced } from "../traced.ts"
import { type CheckedTask, checkTask } from "./checkTask.ts"
import { deadline } from "./deadline.ts"
import { type End, endOf, endOfTurn, lastWords, type Start, stoppedFromOutside } from "./runEnd.ts"
import { withSummary } from "./summary.ts"

/** How long a task may take where neither call nor agent says, in milliseconds. */
const defaultTimeout = 30 * 60_000

/** How the end of a run is stored where that fails at first: it is worth more than a try. Takes a second and a half at most. */
const again = Schedule.intersect(Schedule.exponential("100 millis"), Schedule.recurs(4))

/** What a subagent may not do unless its own definition speaks of it. */
const reserved = ["todowrite", "todoread", "task"] as const

const childRules = (agent: AgentInfo): Ruleset =>
  reserved
    .filter((key) => !agent.permission.some((rule) => rule.permission === key))
    .map((permission) => ({ permission, pattern: "*", action: "deny" }))

/** Makes the service. */
export const makeTasks = Effect.gen(function*() {
  const session = yield* Session
  const table = yield* SessionTable
  const journal = yield* Journal
  const governor = yield* Governor
  const ids = yield* Ids
  const { settings: { limits } } = yield* Config
  const context = yield* Effect.context<Agent | Bus | Config | SessionTable | Journal>()

  const countSpawn = (parent: Live) =>
    Effect.suspend(() => {
      const root = rootOf(parent)
      if (root.spawns >= limits.max_tasks) {
        return Effect.fail(
          new TaskRefused({
            reason: "limit",
            message:
              `This turn has started ${limits.max_tasks} tasks, which is the limit (limits.max_tasks, --max-tasks). Do the rest without tasks.`
          })
        )
      }
      root.spawns++
      return Effect.void
    })

  /** The child session: the one to go on with, or a new one that begins clean. */
  const openChild = Effect.fnUntraced(function*({ agent, child, parent }: CheckedTask, request: TaskRequest) {
    if (child !== undefined) return child
    const model = request.model ?? (agent.model.length > 0 ? undefined : request.callerModel ?? parent.info.model)
    const info = yield* session.createChild(parent.info.id, {
      agent: agent.name,
      title: `${request.description} (@${agent.name} subagent)`,
      permission: childRules(agent),
      ...(model === undefined ? {} : { model })
    }).pipe(
      Effect.catchTag(
        "SessionNotFound",
        (error) => new TaskRefused({ reason: "parent_not_found", message: error.message })
      )
    )
    return yield* table.open(info.id).pipe(
      Effect.catchTag("SessionNotFound", (error) => new TaskRefused({ reason: "not_found", message: error.message }))
    )
  })

  const facts = (run: TaskRun, live: Live) => ({
    task_id: run.taskID,
    run_id: run.id,
    trigger_session_id: run.parentID,
    root: run.rootID,
    depth: live.info.depth,
    path: pathOf(live),
    agent: run.agent,
    description: run.description
  })

  const begin = Effect.fnUntraced(function*(live: Live, request: TaskRequest) {
    const now = yield* Clock.currentTimeMillis
    const run: TaskRun = {
      id: yield* ids.make("run"),
      taskID: live.info.id,
      parentID: request.parentID,
      rootID: live.info.rootID,
      ...(request.partID === undefined ? {} : { partID: request.partID }),
      agent: live.info.agent,
      description: request.description,
      prompt: request.prompt,
      background: false,
      state: "queued",
      time: { created: now }
    }
    yield* journal.commit([{ _tag: "Run", run }], [
      journal.event(live.info, "subagent.created", facts(run, live), now)
    ])
    return run
  })

  const settle = Effect.fnUntraced(function*(live: Live, run: TaskRun, end: End, start: Start) {
    const now = yield* Clock.currentTimeMillis
    // What could not be stored is no longer in memory; what could be is read again.
    if (end.status === "failed") yield* Effect.orElseSucceed(table.history(live), () => [])
    const outcome = {
      ...end,
      taskID: run.taskID,
      runID: run.id,
      text: lastWords(live, start),
      usage: since(start.usage, live.info.usage.subtree),
      durationMs: now - run.time.created
    } as Outcome
    const settled: TaskRun = { ...run, state: "settled", outcome, time: { ...run.time, settled: now } }
    const type = end.status === "completed" ? "subagent.completed" : "subagent.failed"
    const event = journal.event(live.info, type, {
      ...facts(run, live),
      durationMs: outcome.durationMs,
      outcome,
      usage: outcome.usage
    }, now)
    yield* Effect.retry(journal.commit([{ _tag: "Run", run: settled }], [event]), again)
    table.rest(live)
    return outcome
  })

  /** The work of one run, when its turn has come. */
  const work = (live: Live, request: TaskRequest, agent: AgentInfo, granted: Effect.Effect<void>) => {
    const limit = request.timeout ?? agent.timeout ?? defaultTimeout
    const options = request.model === undefined ? {} : { model: request.model }
    const turn = Effect.map(session.prompt(live.info.id, request.prompt, options), endOfTurn)
    const late = Effect.as(deadline(live, limit), { status: "timed_out", which: "timeout", after: limit } satisfies End)
    return Effect.gen(function*() {
      // What the ancestors may do is looked up at every call; what they could do now stays the most that this run may do.
      live.captured = live.parent === undefined ? [] : (yield* subjectOf(live.parent)).ceilings
      live.slot = governor.slot(live.info.rootID, {
        queued: (position) => setStatus(live, { type: "queued", position }).pipe(Effect.provide(context)),
        granted
      })
      return yield* firstOf(turn, late)
    })
  }

  const run = Effect.fnUntraced(function*(request: TaskRequest, progress?: TaskProgress) {
    const checked = yield* checkTask(request)
    yield* countSpawn(checked.parent)
    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const live = yield* openChild(checked, request)
        let row = yield* begin(live, request)
        const { stops } = live
        // A run that waits for an earlier one of the same task begins later than it was asked for.
        let start: Start | undefined
        if (progress !== undefined) {
          yield* progress.started({
            taskID: row.taskID,
            runID: row.id,
            model: live.info.model ?? checked.agent.model[0]
          })
        }
        // Nobody waits for this to be stored: what the run stores next comes after it.
        const granted = Effect.flatMap(Clock.currentTimeMillis, (now) => {
          row = { ...row, state: "running", time: { ...row.time, started: now } }
          return Effect.fork(Effect.ignoreLogged(journal.commit([{ _tag: "Run", run: row }], [])))
        })
        const working = live.turnstile.withPermits(1)(Effect.gen(function*() {
          if (live.stops !== stops) return stoppedFromOutside
          start = { mark: yield* ids.make("msg"), usage: live.info.usage.subtree }
          return yield* work(live, request, checked.agent, Effect.asVoid(granted))
        }))
        const exit = yield* Effect.exit(restore(
          progress === undefined ? working : withSummary(live.info.id, progress.summary, working)
        ))
        const outcome = yield* settle(
          live,
          row,
          endOf(exit),
          start ?? { mark: yield* ids.make("msg"), usage: live.info.usage.subtree }
        )
        if (progress !== undefined) yield* progress.settled(outcome)
        return Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause) ? yield* Effect.interrupt : outcome
      })
    )
  })

  return {
    check: (request: Omit<TaskRequest, "partID" | "timeout">) =>
      Effect.provide(Effect.asVoid(checkTask(request)), context),
    run: (request: TaskRequest, progress?: TaskProgress) =>
      traced(
        "Task.run",
        () => ({ agent: request.agent, parentID: request.parentID, description: request.description }),
        Effect.provide(run(request, progress), context)
      )
  }
})
