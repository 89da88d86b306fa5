/** A session in memory while it is in use: the owners of its state, and its place in the tree. */
import type { Account } from "@skein/domain/Budget"
import type { Wait } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import { type InboxRow, startsLoop, type Stops, stopsFor } from "@skein/domain/InboxRow"
import type { Outcome, RunTerms, TaskRun } from "@skein/domain/Outcome"
import type { SessionInfo, SessionStatus } from "@skein/domain/SessionInfo"
import { knownCost, type Usage } from "@skein/domain/Usage"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type { Slot } from "../../Governor.ts"
import { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import type { StorageError } from "../../StorageError.ts"
import type { Accepted } from "../../TaskRequest.ts"
import type { Entry } from "../../Write.ts"
import { type BudgetedSession, type BudgetNode, makeBudgetNode, type Reservation } from "../budget/BudgetNode.ts"
import { grantWaiting } from "../budget/requests.ts"
import { SessionCalls, shortestWait } from "../governor/SessionCalls.ts"
import type { Attributes } from "../traced.ts"
import { History, type LiveMessage, Requests } from "./History.ts"
import { type AnswerForm, Inbox } from "./Inbox.ts"
import { type Running, RunState, TreePause } from "./RunState.ts"
import { hasBegun, TaskList, type TaskRunState } from "./TaskList.ts"

/** The data of one session. */
export class SessionRecord {
  #info: SessionInfo
  #modeChanges = 0

  constructor(info: SessionInfo) {
    this.#info = info
  }

  /** The current data, with changes that may not be stored yet. */
  get info(): SessionInfo {
    return this.#info
  }

  /** How often another mode was chosen since it is in memory. */
  get modeChanges(): number {
    return this.#modeChanges
  }

  /** The change that counts a stop, which holds for everything that was requested before. */
  get stopped(): Pick<SessionInfo, "stops"> {
    return { stops: (this.#info.stops ?? 0) + 1 }
  }

  /** Changes the data and its date; commit the returned write. */
  change(now: number, patch: Partial<SessionInfo>): Entry {
    if (patch.mode !== undefined) this.#modeChanges++
    this.#info = { ...this.#info, ...patch, time: { ...this.#info.time, updated: now } }
    return { _tag: "Session", info: this.#info }
  }

  /** Changes the data but not its date, so that the session keeps its place in listings; commit the returned write. */
  annotate(patch: Partial<Omit<SessionInfo, "time">>): Entry {
    this.#info = { ...this.#info, ...patch }
    return { _tag: "Session", info: this.#info }
  }

  /** Updates the account; it is stored with the next change. */
  keepAccount(budget: Account): void {
    this.#info = { ...this.#info, budget }
  }

  /** Removes the budget; that is stored with the next change. */
  dropAccount(): void {
    const { budget: _, ...info } = this.#info
    this.#info = info
  }
}

/** Owns the clocks of a session: how long it waited for people, and its last sign of life. */

/** The clock of one session. All times are milliseconds of `MonotonicClock.elapsed`. */
export class SessionClock {
  readonly #parent: SessionClock | undefined
  readonly #now: () => number
  readonly #asked: (start: number, end: number) => void
  /** How many questions wait of the session itself, and since when. */
  #own = 0
  #ownSince = 0
  #asking = 0
  #since = 0
  #waited = 0
  #alive = 0

  /** `asked` is called when no question of the session itself waits any more. */
  constructor(
    now: () => number,
    parent: SessionClock | undefined,
    asked: (start: number, end: number) => void
  ) {
    this.#now = now
    this.#parent = parent
    this.#asked = asked
  }

  /** The time now. */
  now(): number {
    return this.#now()
  }

  /** The last sign of life of a model or a tool, or the end of the last pause. */
  get lastAlive(): number {
    return this.#alive
  }

  /** Notes a sign of life. */
  alive(): void {
    this.#alive = this.#now()
  }

  /** Whether a question of the session, or of one below it, waits for a person. */
  get isAsking(): boolean {
    return this.#asking > 0
  }

  /** The total time spent waiting for people. */
  get waited(): number {
    return this.#waited + (this.#asking > 0 ? this.#now() - this.#since : 0)
  }

  /** A question starts to wait for a person: pauses the clocks of the session and of all above it. */
  beginAsking(): void {
    if (this.#own++ === 0) this.#ownSince = this.#now()
    this.#pause()
  }

  /** A question has been answered or withdrawn. */
  endAsking(): void {
    if (--this.#own === 0) this.#asked(this.#ownSince, this.#now())
    this.#continue()
  }

  #pause(): void {
    if (this.#asking++ === 0) this.#since = this.#now()
    this.alive()
    const parent = this.#parent
    if (parent !== undefined) parent.#pause()
  }

  #continue(): void {
    if (--this.#asking === 0) this.#waited += this.#now() - this.#since
    this.alive()
    const parent = this.#parent
    if (parent !== undefined) parent.#continue()
  }
}

/** The terms of a root, and of a run that nothing bounds. */
export const noTerms: RunTerms = { ceilings: [], rules: [], shared: [] }

/** The terms of a run that cannot be read: nothing is known of them, so nothing is allowed. */
export const unreadableTerms: RunTerms = {
  ceilings: [[{ permission: "*", pattern: "*", action: "deny" }]],
  rules: [],
  shared: []
}

/** The terms of a stored run. */
export const termsOf = ({ ceilings = [], terms }: Pick<TaskRun, "ceilings" | "terms">): RunTerms =>
  terms ?? (ceilings.length === 0 ? noTerms : { ...noTerms, ceilings })

/** The terms of the current run of one session, or of its last one. */
interface Assignment {
  /** What bounded the run when it was requested: until its end that can only narrow. None for a root. */
  terms: RunTerms
  /** The schema of the answers of all its turns, if the caller asked for one. */
  form: AnswerForm | undefined
  /** Whether it must conclude: its next step is the last, and has no tools. */
  isConcluding: boolean
}

/** The summary of one session. */
interface SummaryState {
  /** Whether calls have changed files since a summary last began, at all levels; known at the root. */
  isStale: boolean
  /** The fiber that renews it after the last turn that changed files. */
  renewal: Fiber.Fiber<void> | undefined
  /** Asks a model for the title, which is charged: not before the first request of the turn is answered. */
  title: Fiber.Fiber<unknown, unknown> | undefined
}

/** What a session in memory is made of. */
interface LiveOptions {
  readonly info: SessionInfo
  readonly parent: Live | undefined
  readonly scope: Scope.CloseableScope
  readonly now: () => number
  /** The time in milliseconds since 1970. */
  readonly date: () => number
  /** Stores what a session has waited for with its next change. */
  readonly later: (info: SessionInfo, wait: Wait) => void
  readonly slot: Slot
  readonly inbox: ReadonlyArray<InboxRow>
  readonly terms: RunTerms
}

/** A session in memory. Each field owns a part of the state, and only that owner changes it. */
export class Live implements BudgetedSession {
  readonly parent: Live | undefined
  /** Closes with the parent's; what runs for the session runs in it. */
  readonly scope: Scope.CloseableScope
  readonly record: SessionRecord
  readonly history = new History()
  readonly inbox: Inbox
  readonly run: RunState
  readonly clock: SessionClock
  readonly budget: BudgetNode
  readonly tasks = new TaskList<RunningTask>()
  readonly assignment: Assignment
  readonly request = new Requests()
  readonly summary: SummaryState = { isStale: false, renewal: undefined, title: undefined }
  /** That of the tree. */
  readonly pause: TreePause
  #status: SessionStatus = { type: "idle" }
  #wait: Omit<Wait, "end"> | undefined
  readonly #date: () => number
  readonly #later: LiveOptions["later"]
  /** Whether it is being deleted itself. */
  isRemoved = false
  /** Whether the recovery of the tree is done; known at the root. */
  isRecovered = false
  #connected: Effect.Latch | undefined
  #calls: SessionCalls | undefined

  constructor({ date, inbox, info, later, now, parent, scope, slot, terms }: LiveOptions) {
    this.#date = date
    this.#later = later
    this.parent = parent
    this.scope = scope
    this.record = new SessionRecord(info)
    this.inbox = new Inbox(inbox)
    this.assignment = { terms, form: undefined, isConcluding: false }
    this.run = new RunState(slot)
    this.clock = new SessionClock(now, parent?.clock, this.#waitEnded("person"))
    this.budget = makeBudgetNode(this, parent?.budget)
    this.pause = parent?.pause ?? new TreePause()
  }

  /** The data of the session. */
  get info(): SessionInfo {
    return this.record.info
  }

  /** Its messages; undefined until they were read. */
  get messages(): ReadonlyArray<LiveMessage> | undefined {
    return this.history.messages
  }

  /** Its loop, while it works. */
  get running(): Running | undefined {
    return this.run.running
  }

  /** The calls of its step. */
  get calls(): SessionCalls {
    return this.#calls ??= new SessionCalls({
      slot: () => this.run.slot,
      asks: (is) => is ? this.clock.beginAsking() : this.clock.endAsking(),
      // While all calls wait, budget that the session holds is released only when others continue.
      rests: () => grantWaiting(this.budget),
      now: this.now,
      settled: () => this.tasks.settled,
      awaitsTask: () => this.tasks.running.some(({ row }) => !row.background),
      waited: this.#waitEnded("tasks")
    })
  }

  /** Whether a turn is stored as under way. While no loop runs, only a crash can have left it like that. */
  get hasOpenTurn(): boolean {
    const { turn } = this.info
    return turn !== undefined && turn.ended === undefined
  }

  /** How often it was stopped, directly and from above, as stored. */
  get stops(): Stops {
    const above = this.parent?.stops.all ?? 0
    return { all: above + (this.info.stops ?? 0), above }
  }

  /** What a new row of its inbox carries, so that only a later stop holds for it. */
  stamp(kind: InboxRow["kind"]): Pick<InboxRow, "stops"> {
    return { stops: stopsFor(kind, this.stops) }
  }

  /** Whether a row of its inbox starts the loop by itself: no stop has come since it was sent. */
  startsLoop(row: InboxRow): boolean {
    return startsLoop(row, this.stops)
  }

  /** Its current activity. */
  get status(): SessionStatus {
    return this.#status
  }

  /** Notes an activity, which is a sign of life, and ends the wait of the one before. */
  report(status: SessionStatus, now: number): void {
    this.#status = status
    this.clock.alive()
    const before = this.#wait
    const wait = waitOf(status)
    const isSame = before !== undefined && before.why === wait?.why
    this.#wait = wait === undefined ? undefined : { ...wait, start: isSame ? before.start : now }
    if (before !== undefined && !isSame) this.#waited({ ...before, end: now })
  }

  /** Notes a wait that has ended, unless it was short. */
  #waited(wait: Wait): void {
    if (wait.end - wait.start >= shortestWait) this.#later(this.info, wait)
  }

  /** Notes a wait by the clock of the session. */
  readonly #waitEnded = (why: Wait["why"]) => (start: number, end: number): void => {
    const since = this.#date() - this.clock.now()
    this.#waited({ why, start: since + start, end: since + end })
  }

  /** The session at the top. */
  get root(): Live {
    return this.parent === undefined ? this : this.parent.root
  }

  /** Whether it, or one above it, is being deleted: lookups no longer find it. */
  get isLeaving(): boolean {
    return this.isRemoved || (this.parent?.isLeaving ?? false)
  }

  /** Opens once a model has accepted a request of this session: less urgent requests wait for that. */
  get connected(): Effect.Latch {
    return this.#connected ??= Effect.unsafeMakeLatch()
  }

  // What its budget knows of it.

  get id(): SessionID {
    return this.info.id
  }

  get account(): Account | undefined {
    return this.info.budget
  }

  readonly keepAccount = (account: Account): void => this.record.keepAccount(account)

  get used(): Usage {
    return this.info.usage.subtree
  }

  readonly now = (): number => this.clock.now()

  readonly waited = (): number => this.clock.waited

  readonly budgetsOfTasks = (): ReadonlyArray<BudgetNode> => this.tasks.running.map(({ live }) => live.budget)

  readonly canContinue = (): boolean => {
    const tasks = this.tasks.running
    if (tasks.some((task) => !hasBegun(task) || task.live.canContinue())) return true
    if (this.budget.waits) return false
    return this.clock.isAsking || tasks.length === 0 || (this.running !== undefined && !this.calls.allWait)
  }
}

/** A request to end a run. */
export type StopRequest = NonNullable<TaskRun["stop"]>

/** An unsettled run, in the `tasks` of the session that started it. */
export interface RunningTask {
  /** As stored; `background` decides who gets the outcome, and `stop` is why its work was interrupted. */
  row: TaskRun
  /** The session of the task. */
  readonly live: Live
  /** What it may use. */
  readonly reservation: Reservation
  /** Whether a process that has ended began it. */
  readonly isResumed: boolean
  /** What the subagent must know about its working directory. */
  note: string | undefined
  /** What bounded it when it was requested: until its end that can only narrow. */
  readonly terms: RunTerms
  /** Its time limit from the start of its turn, in milliseconds. */
  readonly timeout: number
  /** When it was requested, by `live.elapsed` (ms). */
  readonly since: number
  /** When its turn came, after earlier runs of the same task, by `live.elapsed` (ms). */
  asked: number
  /** Where it is; `advance` changes it. */
  state: TaskRunState
  /** Starts its fiber, once. Without a slot the fiber does not work, and only settles the run. */
  readonly begin: Effect.Effect<void>
  /** The same after its time limit: the run times out. */
  readonly expire: Effect.Effect<void>
  /** Cancels its timeout, and releases its slot, or its place in the queue, if it does not work. */
  cancelTimeout: () => void
  giveUp: () => void
  /** The fiber of the work. Interrupting it ends the work but not the run, which then settles. */
  working: Fiber.RuntimeFiber<unknown, unknown> | undefined
  /** The fiber of the run. It settles the run even if it is interrupted before the work begins. */
  fiber: Fiber.RuntimeFiber<Outcome, StorageError> | undefined
  /** Whether it may continue without its caller. */
  readonly promotable: boolean
  /** Releases the call that waits for the run; undefined if none waits. */
  answer: ((end: Exit.Exit<Outcome | Accepted, StorageError>) => void) | undefined
  /** Done when the outcome is stored and being delivered. */
  readonly ended: Deferred.Deferred<Outcome, StorageError>
}

/** A session as seen by code that acts for it, perhaps as another agent than its own. */
export type Acting = Pick<Live, "assignment" | "clock" | "info" | "parent" | "tasks">

/** A session with another agent acting for it. */
export const actingAs = (live: Live, agent: string): Acting =>
  agent === live.info.agent ? live : {
    assignment: live.assignment,
    clock: live.clock,
    info: { ...live.info, agent },
    parent: live.parent,
    tasks: live.tasks
  }

/** The names of the agents from the root to this session. */
export const pathOf = (live: Pick<Live, "info" | "parent">): ReadonlyArray<string> =>
  live.parent === undefined ? [live.info.agent] : [...pathOf(live.parent), live.info.agent]

/** The ids of the sessions above, nearest first. */
export const ancestorsOf = (live: Live): ReadonlyArray<SessionID> =>
  live.parent === undefined ? [] : [live.parent.info.id, ...ancestorsOf(live.parent)]

/** A session and those above it. */
export const lineOf = (live: Live): ReadonlyArray<Live> =>
  live.parent === undefined ? [live] : [live, ...lineOf(live.parent)]

/** Starts those that have not begun: they find that they must not work. */
export const beginTasks = (tasks: Iterable<RunningTask>): Effect.Effect<void> =>
  Effect.suspend(() => Effect.forEach([...tasks], ({ begin }) => begin, { discard: true }))

/** The same, and waits until all have settled. */
export const endTasks = (tasks: Iterable<RunningTask>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const all = [...tasks]
    return Effect.zipRight(
      beginTasks(all),
      Effect.forEach(all, ({ ended }) => Effect.exit(Deferred.await(ended)), { discard: true })
    )
  })

/** What a session waits for, as its status says. */
const waitOf = (status: SessionStatus): Omit<Wait, "start" | "end"> | undefined => {
  switch (status.type) {
    case "queued":
      return status.pause === undefined ? { why: "slot" } : { why: "pause", ...status.pause }
    case "retry":
      return { why: "retry", until: status.next }
    case "waiting":
      return { why: "budget" }
    default:
      return undefined
  }
}

/** Publishes what a session is doing. What it has waited for is stored with its next change. */
export const tellStatus = (
  journal: Context.Tag.Service<Journal>,
  live: Live,
  status: SessionStatus,
  now: number
): void => {
  live.report(status, now)
  journal.tell(live.info, "session.status", { status }, now)
}

/** Publishes what a session is doing. */
export const setStatus = Effect.fnUntraced(function*(live: Live, status: SessionStatus) {
  const journal = yield* Journal
  tellStatus(journal, live, status, yield* Clock.currentTimeMillis)
})

/** Starts it as an interruptible fiber of the session, from any fiber. */
export const startSideFiber = <A, E, R>(live: Live, effect: Effect.Effect<A, E, R>) =>
  Effect.uninterruptible(
    Effect.flatMap(Leases, (leases) => {
      const done = leases.use(live.info.rootID)
      return Effect.tap(Effect.forkIn(Effect.interruptible(effect), live.scope), (fiber) =>
        Effect.sync(() => {
          live.run.sideFibers.add(fiber)
          fiber.addObserver(() => {
            live.run.sideFibers.delete(fiber)
            done()
          })
        }))
    })
  )

/** The session that works; that is the first unsettled run of a task. */
export const sessionAttributes = (live: Live): Attributes => {
  const { parent } = live
  const who = {
    "gen_ai.conversation.id": live.info.id,
    "gen_ai.agent.name": live.info.agent,
    "skein.root.id": live.info.rootID,
    "skein.agent.path": pathOf(live).join("/")
  }
  if (parent === undefined) return who
  const run = parent.tasks.running.find((task) => task.live === live)
  return { ...who, "skein.task.id": live.info.id, ...(run === undefined ? {} : { "skein.run.id": run.row.id }) }
}

/** The usage; `skein.cost` is in USD, and missing if unknown. */
export const usageAttributes = ({ cost, tokens }: Pick<Usage, "cost" | "tokens">): Attributes => ({
  "gen_ai.usage.input_tokens": tokens.input,
  "gen_ai.usage.output_tokens": tokens.output,
  "gen_ai.usage.cache_read.input_tokens": tokens.cacheRead,
  "gen_ai.usage.cache_creation.input_tokens": tokens.cacheWrite,
  "gen_ai.usage.reasoning.output_tokens": tokens.reasoning,
  ...(cost === "unknown" ? {} : { "skein.cost": Number(knownCost(cost)) })
})
