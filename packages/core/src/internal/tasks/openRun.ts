/** The start of a run: the child session, what bounds the run until its end, and the row of the request. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import { Ids, type SessionID } from "@skein/domain/Id"
import type { RunTerms, TaskRun } from "@skein/domain/Outcome"
import type { Ruleset } from "@skein/domain/Rule"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { none as noFiber } from "effect/FiberId"
import { Agent } from "../../Agent.ts"
import { failpoint } from "../../Failpoints.ts"
import { Isolation } from "../../Isolation.ts"
import { Journal } from "../../Journal.ts"
import { TaskRefused, type TaskRequest } from "../../TaskRequest.ts"
import type { ChildOptions } from "../../Turn.ts"
import type { Entry } from "../../Write.ts"
import type { Reservation } from "../budget/BudgetNode.ts"
import { settleCount, spendTask, unspendTask, usePromise } from "../budget/reservations.ts"
import { subjectOf } from "../calls/offer.ts"
import { lineOf, type Live, noTerms, pathOf, type RunningTask, termsOf } from "../live/Live.ts"
import { childInfo, inProject, SessionTable } from "../live/SessionTable.ts"
import { advance } from "../live/TaskList.ts"
import { modelsOf } from "../model/candidates.ts"
import { type CheckedTask, unknownTask } from "./checkTask.ts"
import { workspaceText } from "./taskTexts.ts"

/** The time limit of a task if neither call nor agent sets one, in milliseconds. */
const defaultTimeout = 30 * 60_000

/** What a subagent may not do unless its own definition has a rule for it. */
const reserved: Ruleset = ["todowrite", "todoread", "task"].map((permission) => ({
  permission,
  pattern: "*",
  action: "deny"
}))

const childRules = (agent: AgentInfo): Ruleset =>
  reserved.filter(({ permission }) => !agent.permission.some((rule) => rule.permission === permission))

/** An isolated task does not touch the tree of its caller. */
const apartFrom = ({ info }: Live): Ruleset =>
  [info.directory, `${info.directory}/*`].map((pattern) => ({
    permission: "external_directory",
    pattern,
    action: "deny"
  }))

/** The worktree of a task, created, or reopened where the task has had it. */
const openWorkspace = ({ info: { directory } }: Live, taskID: SessionID, description: string, root?: string) =>
  Effect.flatMap(
    Isolation,
    (isolation) => isolation.open({ directory, taskID, description, ...(root === undefined ? {} : { root }) })
  )

/** Reopens the worktree of a resumed task: if nothing had changed, settling the task removed it. */
export const reopenWorkspace = Effect.fnUntraced(function*(parent: Live, task: RunningTask) {
  const { worktree } = task.live.info
  if (worktree === undefined || task.note !== undefined) return
  const opening = openWorkspace(parent, task.row.taskID, task.row.description, worktree.root)
  task.note = workspaceText(yield* inProject(parent, opening))
})

/** The child session: an existing one, or a new one that starts empty and is stored with its first run. */
const openChild = Effect.fnUntraced(function*({ agent, child, parent }: CheckedTask, request: TaskRequest) {
  if (child !== undefined) return { live: child, workspace: undefined, isNew: false }
  const table = yield* SessionTable
  const ids = yield* Ids
  const id = yield* ids.make("ses")
  // What touches no file needs no copy of the files.
  const workspace = (request.isolation ?? agent.isolation) === undefined || parent.root.info.anywhere === true
    ? undefined
    // It may take a while, and leaves nothing behind if it is interrupted.
    : yield* Effect.mapError(
      Effect.interruptible(openWorkspace(parent, id, request.description)),
      ({ message }) => new TaskRefused({ reason: "isolation", message })
    )
  const models = agent.model.length === 0 ? [] : yield* inProject(parent, modelsOf(parent, agent))
  const model = request.model ?? (models.length > 0 ? undefined : request.callerModel ?? parent.info.model)
  const options: ChildOptions = {
    agent: agent.name,
    title: `${request.description} (@${agent.name} subagent)`,
    // The last matching rule wins: none of the caller's lifts a denial.
    permission: [
      ...request.permission ?? [],
      ...childRules(agent),
      ...(workspace === undefined ? [] : apartFrom(parent))
    ],
    ...(workspace === undefined
      ? {}
      : { place: { directory: workspace.directory, worktree: { root: workspace.root, branch: workspace.branch } } }),
    ...(model === undefined ? {} : { model }),
    ...(request.systemPrompt === undefined ? {} : { prompt: request.systemPrompt })
  }
  const live = yield* table.add(childInfo(parent.info, id, options, yield* Clock.currentTimeMillis), parent)
  // Nothing is stored of it that would have to be read.
  live.history.load([])
  return { live, workspace, isNew: true }
})

/** A session that could not be stored never existed. */
const takeBack = Effect.fnUntraced(function*(parent: Live, { info: { id } }: Live, isApart: boolean) {
  const table = yield* SessionTable
  yield* table.close(id)
  if (isApart) yield* closeWorkspace(parent, id)
})

/** Ends the work in a worktree; undefined if nothing is left of it. Where the project cannot be opened, the worktree stays. */
export const closeWorkspace = (parent: Live, taskID: SessionID) =>
  Effect.flatMap(SessionTable, (table) =>
    table.hasProject(parent)
      ? inProject(parent, Effect.flatMap(Isolation, (isolation) => isolation.close(taskID))).pipe(
        Effect.map((end) => end.kept ? end : undefined),
        Effect.catchAll((error) =>
          Effect.as(Effect.logWarning("A worktree could not be closed", error.message), undefined)
        )
      )
      : Effect.succeed(undefined))

/** The fields of every event of a run. */
export const factsOf = (run: TaskRun, live: Live) => ({
  task_id: run.taskID,
  run_id: run.id,
  trigger_session_id: run.parentID,
  root: run.rootID,
  depth: live.info.depth,
  path: pathOf(live),
  agent: run.agent,
  description: run.description
})

/** Counts a task towards the budgets above it; they get it back if it cannot be stored. */
const countTask = (parent: Live, now: number) => {
  const line = lineOf(parent)
  const limits = line.map(({ info }) => info.budget?.limit)
  const counted = line.flatMap((each) =>
    each.info.budget === undefined ? [] : [each.record.change(now, spendTask(each.budget))]
  )
  for (const each of line) usePromise(each.budget)
  const giveBack = Effect.sync(() => {
    for (const [index, each] of line.entries()) {
      const limit = limits[index]
      const account = limit === undefined ? undefined : unspendTask(each.budget, limit)
      if (account === undefined) continue
      each.record.keepAccount(account)
      usePromise(each.budget)
    }
  })
  return { counted, giveBack }
}

/** Opens the child session and stores the requested run; from here on it has an outcome, whatever happens. */
export const openRun = Effect.fnUntraced(function*(
  checked: CheckedTask,
  request: TaskRequest,
  reservation: Reservation,
  begin: (task: RunningTask) => Effect.Effect<void>,
  also: (run: TaskRun) => ReadonlyArray<Entry>
) {
  const ids = yield* Ids
  const journal = yield* Journal
  // What is requested while its caller is being stopped ends with it.
  const { stops } = checked.parent.running ?? { stops: checked.parent.stops.all }
  const terms = yield* Effect.mapError(
    termsFor(checked.parent, checked.agent),
    ({ message }) => new TaskRefused({ reason: "unknown_agent", message })
  )
  const { isNew, live, workspace } = yield* openChild(checked, request)
  const now = yield* Clock.currentTimeMillis
  const timeout = request.timeout ?? checked.agent.timeout ?? defaultTimeout
  const background = request.background === true
  const row: TaskRun = {
    id: yield* ids.make("run"),
    taskID: live.info.id,
    parentID: request.parentID,
    rootID: live.info.rootID,
    ...(request.partID === undefined ? {} : { partID: request.partID }),
    agent: live.info.agent,
    description: request.description,
    prompt: request.prompt,
    background,
    stops,
    ...(reservation.limit === undefined ? {} : { budget: reservation.limit }),
    ...(request.cleanup === undefined ? {} : { cleanup: request.cleanup }),
    timeout,
    ...(terms === noTerms ? {} : { terms }),
    ...(live.info.usage.subtree.steps === 0 ? {} : { before: live.info.usage.subtree }),
    state: "queued",
    time: { created: now }
  }
  const facts = factsOf(row, live)
  const storing = Effect.suspend(() => {
    const { counted, giveBack } = countTask(checked.parent, now)
    settleCount(checked.parent.budget, reservation)
    const { info } = live
    const writes: ReadonlyArray<Entry> = [
      ...(isNew ? [{ _tag: "Session", info, isNew } as const] : []),
      { _tag: "Run", run: row },
      journal.fact(info, "subagent.created", facts),
      ...(background ? [journal.fact(info, "background_task.started", facts)] : []),
      ...counted,
      ...also(row)
    ]
    return Effect.tapErrorCause(journal.commit(writes), () => giveBack)
  })
  const task = makeRunning(row, live, reservation, begin, {
    since: live.clock.now(),
    timeout,
    isResumed: false,
    promotable: request.promotable ?? true,
    note: workspace === undefined ? undefined : workspaceText(workspace)
  })
  const asked = Effect.map(Effect.zipRight(failpoint("child_created_before_link"), storing), () => {
    if (request.cleanup === "delete") checked.parent.tasks.dispose(row.id, row.taskID)
    checked.parent.tasks.add(task)
    return task
  })
  return yield* Effect.onError(
    claimed(live, asked),
    () => isNew ? takeBack(checked.parent, live, workspace !== undefined) : Effect.void
  )
})

/** A run that another process began, to be continued or settled by this one. */
export const reopenRun = (
  parent: Live,
  child: Live,
  row: TaskRun,
  reservation: Reservation,
  begin: (task: RunningTask) => Effect.Effect<void>,
  now: number
): RunningTask => {
  if (row.cleanup === "delete") parent.tasks.dispose(row.id, row.taskID)
  const task = makeRunning(row, child, reservation, begin, {
    since: child.clock.now() - Math.max(0, now - row.time.created),
    timeout: row.timeout ?? defaultTimeout,
    isResumed: true,
    promotable: true,
    note: undefined
  })
  parent.tasks.add(task)
  return task
}

const makeRunning = (
  row: TaskRun,
  live: Live,
  reservation: Reservation,
  begin: (task: RunningTask) => Effect.Effect<void>,
  more: Pick<RunningTask, "since" | "timeout" | "isResumed" | "promotable" | "note">
): RunningTask => {
  const beginBy = (event: "begin" | "expire") =>
    Effect.suspend(() => {
      if (!advance(task, event)) return Effect.void
      task.cancelTimeout()
      return begin(task)
    })
  const task: RunningTask = {
    ...more,
    row,
    live,
    reservation,
    terms: termsOf(row),
    asked: more.since,
    state: "queued",
    begin: beginBy("begin"),
    expire: beginBy("expire"),
    cancelTimeout: () => {},
    giveUp: () => {},
    working: undefined,
    fiber: undefined,
    answer: undefined,
    ended: Deferred.unsafeMake(noFiber)
  }
  return task
}

/** First come, first served: a session to resume is not deleted, and one that is being deleted is not resumed. */
const claimed = <A, E, R>(live: Live, asked: Effect.Effect<A, E, R>): Effect.Effect<A, E | TaskRefused, R> =>
  Effect.suspend((): Effect.Effect<A, E | TaskRefused, R> => {
    if (live.isLeaving) return unknownTask(live.info.id)
    live.tasks.claims++
    return Effect.ensuring(asked, Effect.sync(() => live.tasks.claims--))
  })

const denies = (rules: Ruleset): boolean => rules.some(({ action }) => action === "deny")

/** Whether two sets hold the same rules: a restart reads the same config into other objects. */
const isSame = (one: Ruleset, other: Ruleset): boolean =>
  one === other || (one.length === other.length && one.every(({ action, pattern, permission }, at) => {
    const rule = other[at]
    return rule?.action === action && rule.pattern === pattern && rule.permission === permission
  }))

/**
 * The terms of a run of this agent that is requested now. The ceilings above are also checked live, at every call: the
 * terms keep what they deny now.
 *
 * The agent's own rules bound the run itself, and not what it starts: a coordinator's workers edit. The rules for all
 * agents are part of them, where a definition may lift them. Once the config has changed, those of the caller's time
 * bound everything that it still starts, without exception.
 */
const termsFor = Effect.fnUntraced(function*(caller: Live, agent: AgentInfo) {
  const agents = yield* Agent
  const above = yield* subjectOf(caller)
  const changed = new Set(
    lineOf(caller).flatMap(({ assignment }) => assignment.terms.shared).filter((rules) => !isSame(rules, agents.shared))
  )
  const terms: RunTerms = {
    ceilings: [...new Set([...above.ceilings, agents.ceiling(agent)])].filter((rules) => rules.length > 0),
    rules: [agents.rules(agent), ...changed].filter(denies),
    shared: [agents.shared, ...changed].filter(denies)
  }
  return terms.ceilings.length + terms.rules.length + terms.shared.length === 0 ? noTerms : terms
})
