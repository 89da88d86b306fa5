/** Owns which tasks a session has started, and where each of their runs is. */
import type { RunID, SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"

/** Decides where a run is between its request and its outcome, and what may still happen to it. */

/** Where an unsettled run is. All else about its progress follows from this. */
export type TaskRunState =
  /** It waits for earlier runs of its task, or for a slot. It is data, and has no fiber. */
  | "queued"
  /** A loop of its session took its slot, for a message. The fiber of the run is about to begin. */
  | "granted"
  /** Its fiber begins, with a slot, or to end without one. */
  | "starting"
  /** Its fiber begins after its time limit: it only settles. */
  | "expired"
  /** It has its slot. That it has started is not stored yet. */
  | "running"
  /** It works, and its start is stored, or on its way there. */
  | "started"
  /** Its outcome is being stored: from then on nothing changes it. */
  | "settling"

/** What happens to a run. */
export type TaskRunEvent = "begin" | "expire" | "grant" | "store" | "settle"

const transitions: Readonly<Record<TaskRunState, { readonly [E in TaskRunEvent]?: TaskRunState }>> = {
  queued: { begin: "starting", expire: "expired", grant: "granted", settle: "settling" },
  granted: { begin: "running", expire: "expired", settle: "settling" },
  starting: { grant: "running", settle: "settling" },
  expired: { settle: "settling" },
  running: { store: "started", settle: "settling" },
  started: { settle: "settling" },
  settling: {}
}

/** The one way to change the state of a run. Returns whether that happened: each event counts once, and none comes too late. */
export const advance = (run: { state: TaskRunState }, event: TaskRunEvent): boolean => {
  const next = transitions[run.state][event]
  if (next === undefined) return false
  run.state = next
  return true
}

/** Whether a run has a fiber, or had one. */
export const hasBegun = ({ state }: { readonly state: TaskRunState }): boolean =>
  state !== "queued" && state !== "granted"

/** The tasks of one session. */
export class TaskList<Task> {
  readonly #running = new Set<Task>()
  readonly #queue: Array<Task> = []
  #disposable: Map<RunID, SessionID> | undefined
  #turns = 0
  #recovery: Effect.Semaphore | undefined
  /** How many of the tasks that it started have settled. */
  settled = 0
  /** How many requests and outcomes of its tasks are being stored. */
  storing = 0
  /** How many runs of the session itself are being requested: it is kept for them. */
  claims = 0
  /** How many tasks this turn has started, at all levels; counted at the root. */
  spawns = 0
  /** How many tasks programs have started in this tree, at all levels; counted at the root. */
  programSpawns = 0
  /** The subagents that the user named in this turn: they need no further permission. */
  consents: ReadonlySet<string> = none

  /** The unsettled tasks that it started, oldest first. */
  get running(): ReadonlyArray<Task> {
    return [...this.#running]
  }

  /** How many have not settled. */
  get size(): number {
    return this.#running.size
  }

  /** Adds a requested task. */
  add(task: Task): void {
    this.#running.add(task)
  }

  /** Removes a settled task. */
  remove(task: Task): void {
    if (this.#running.delete(task)) this.settled++
  }

  /** Runs of the session itself as a task, one after the other; the first is current. */
  get queue(): ReadonlyArray<Task> {
    return this.#queue
  }

  /** Queues a run; returns its place, from 1. */
  enqueue(task: Task): number {
    return this.#queue.push(task)
  }

  /** Removes a run from the queue; returns its former place, or -1. */
  dequeue(task: Task): number {
    const at = this.#queue.indexOf(task)
    if (at >= 0) this.#queue.splice(at, 1)
    return at
  }

  /** Recovers its stored runs one after the other: a call and the recovery of the tree may want the same one. */
  get recovery(): Effect.Semaphore {
    return this.#recovery ??= Effect.unsafeMakeSemaphore(1)
  }

  /** Notes a task whose session is deleted once the outcome of this run was read. */
  dispose(run: RunID, task: SessionID): void {
    this.#disposable ??= new Map()
    this.#disposable.set(run, task)
  }

  /** The task to delete now that the outcome of a run was read; only once. */
  takeDisposable(run: RunID): SessionID | undefined {
    const task = this.#disposable?.get(run)
    this.#disposable?.delete(run)
    return task
  }

  /** Counts a task that is started; call the returned function if it never was, which later turns ignore. */
  countSpawn(): () => void {
    this.spawns++
    const turn = this.#turns
    return () => {
      if (this.#turns === turn) this.spawns--
    }
  }

  /** The same for a task that a program starts. */
  countProgramSpawn(): () => void {
    this.programSpawns++
    return () => {
      this.programSpawns--
    }
  }

  /** Notes subagents that the user named. */
  consent(agents: ReadonlyArray<string>): void {
    if (agents.length > 0) this.consents = new Set([...this.consents, ...agents])
  }

  /** A turn begins. */
  beginTurn(): void {
    this.spawns = 0
    this.#turns++
    this.consents = none
  }
}

const none: ReadonlySet<string> = new Set()
