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
  #running: Set<Task> | undefined
  #queue: Array<Task> | undefined
  #disposable: Map<RunID, SessionID> | undefined
  #claims = 0
  #spawns = 0
  #turns = 0
  #consents: Set<string> | undefined
  #recovery: Effect.Semaphore | undefined

  /** The unsettled tasks that it started, oldest first. */
  get running(): ReadonlyArray<Task> {
    return this.#running === undefined ? [] : [...this.#running]
  }

  /** How many have not settled. */
  get size(): number {
    return this.#running?.size ?? 0
  }

  /** Adds a requested task. */
  add(task: Task): void {
    this.#running ??= new Set()
    this.#running.add(task)
  }

  /** Removes a settled task. */
  remove(task: Task): void {
    this.#running?.delete(task)
  }

  /** Runs of the session itself as a task, one after the other; the first is current. */
  get queue(): ReadonlyArray<Task> {
    return this.#queue ?? []
  }

  /** Queues a run; returns its place, from 1. */
  enqueue(task: Task): number {
    if (this.#queue !== undefined) return this.#queue.push(task)
    // Most sessions have one run: an empty array would grow to hold many.
    this.#queue = [task]
    return 1
  }

  /** Removes a run from the queue; returns its former place, or -1. */
  dequeue(task: Task): number {
    const at = this.#queue?.indexOf(task) ?? -1
    if (at >= 0) this.#queue?.splice(at, 1)
    if (this.#queue?.length === 0) this.#queue = undefined
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

  /** Whether runs of the session itself are being requested: it is kept for them. */
  get isClaimed(): boolean {
    return this.#claims > 0
  }

  /** A run of the session is being requested. */
  claim(): void {
    this.#claims++
  }

  /** The run exists, or was refused. */
  unclaim(): void {
    this.#claims--
  }

  /** How many tasks this turn has started, at all levels; counted at the root. */
  get spawns(): number {
    return this.#spawns
  }

  /** Counts a task that is started; call the returned function if it never was, which later turns ignore. */
  countSpawn(): () => void {
    this.#spawns++
    const turn = this.#turns
    return () => {
      if (this.#turns === turn) this.#spawns--
    }
  }

  /** The subagents that the user named in this turn: they need no further permission. */
  get consents(): ReadonlySet<string> {
    return this.#consents ?? none
  }

  /** Notes subagents that the user named. */
  consent(agents: Iterable<string>): void {
    for (const agent of agents) {
      this.#consents ??= new Set()
      this.#consents.add(agent)
    }
  }

  /** A turn begins: a process that has ended started this many tasks in it. */
  beginTurn(spawns = 0): void {
    this.#spawns = spawns
    this.#turns++
    this.#consents = undefined
  }

  /** Corrects the count of a resumed turn. */
  setSpawns(spawns: number): void {
    this.#spawns = spawns
  }
}

const none: ReadonlySet<string> = new Set()
