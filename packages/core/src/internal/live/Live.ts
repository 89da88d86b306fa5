/** A session in memory while it is in use: the owners of its state, and its place in the tree. */
import type { Account } from "@skein/domain/Budget"
import type { SessionID } from "@skein/domain/Id"
import { type InboxRow, startsLoop, type Stops, stopsFor } from "@skein/domain/InboxRow"
import type { Outcome, RunTerms, TaskRun } from "@skein/domain/Outcome"
import type { SessionInfo, SessionStatus } from "@skein/domain/SessionInfo"
import type { Usage } from "@skein/domain/Usage"
import type * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type { Slot } from "../../Governor.ts"
import type { StorageError } from "../../StorageError.ts"
import type { Accepted } from "../../TaskRequest.ts"
import { type BudgetedSession, type BudgetNode, makeBudgetNode, type Reservation } from "../budget/BudgetNode.ts"
import { Assignment } from "./Assignment.ts"
import { History, type LiveMessage } from "./History.ts"
import { Inbox } from "./Inbox.ts"
import { RequestSize } from "./RequestSize.ts"
import { type Running, RunState } from "./RunState.ts"
import { SessionClock } from "./SessionClock.ts"
import { SessionRecord } from "./SessionRecord.ts"
import { SummaryState } from "./SummaryState.ts"
import { TaskList } from "./TaskList.ts"
import { hasBegun, type TaskRunState } from "./TaskRunState.ts"
import { TreePause } from "./TreePause.ts"

/** What a session in memory is made of. */
interface LiveOptions {
  readonly info: SessionInfo
  readonly parent: Live | undefined
  readonly scope: Scope.CloseableScope
  readonly now: () => number
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
  readonly request = new RequestSize()
  readonly summary = new SummaryState()
  /** That of the tree. */
  readonly pause: TreePause
  #status: SessionStatus = { type: "idle" }
  #isRemoved = false
  #isRecovered = false
  #connected: Effect.Latch | undefined

  constructor({ inbox, info, now, parent, scope, slot, terms }: LiveOptions) {
    this.parent = parent
    this.scope = scope
    this.record = new SessionRecord(info)
    this.inbox = new Inbox(inbox)
    this.assignment = new Assignment(terms)
    this.run = new RunState(slot)
    this.clock = new SessionClock(now, parent?.clock)
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
    return startsLoop(this.info, row, this.stops)
  }

  /** Its current activity. */
  get status(): SessionStatus {
    return this.#status
  }

  /** Notes an activity, which is a sign of life. */
  report(status: SessionStatus): void {
    this.#status = status
    this.clock.alive()
  }

  /** The session at the top. */
  get root(): Live {
    return this.parent === undefined ? this : this.parent.root
  }

  /** Whether it, or one above it, is being deleted: lookups no longer find it. */
  get isLeaving(): boolean {
    return this.#isRemoved || (this.parent?.isLeaving ?? false)
  }

  /** Notes that it is being deleted, or that this failed. */
  markRemoved(isRemoved: boolean): void {
    this.#isRemoved = isRemoved
  }

  /** Whether it is being deleted itself. */
  get isRemoved(): boolean {
    return this.#isRemoved
  }

  /** Whether the recovery of the tree is done; known at the root. */
  get isRecovered(): boolean {
    return this.#isRecovered
  }

  /** Notes that the tree was recovered. */
  markRecovered(): void {
    this.#isRecovered = true
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
    return this.clock.isAsking || tasks.length === 0 || this.run.works
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
