/** What is held in memory of a run of a task until it has settled. */
import type { Outcome, TaskRun } from "@skein/domain/Outcome"
import type { Ruleset } from "@skein/domain/Rule"
import type * as Deferred from "effect/Deferred"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { Session } from "../../Session.ts"
import type { SessionStorage } from "../../SessionStorage.ts"
import type { StorageError } from "../../StorageError.ts"
import type { Accepted } from "../../TaskRequest.ts"
import type { Reservation } from "../budget/BudgetNode.ts"
import type { LoopServices } from "../runner/runner.ts"
import type { Alarms } from "../tasks/Alarms.ts"
import type { Live } from "./Live.ts"

/** What the runs of tasks need. */
export type TaskServices = Alarms | LoopServices | Session | SessionStorage

/** Somebody asks a run to come to an end. */
export interface StopRequest {
  readonly by: string
  readonly reason: string | undefined
}

/** A run that has not settled. It stands in the `tasks` of the session that started it. */
export interface RunningTask {
  /** As it is stored; `background` decides who is told of the outcome. */
  row: TaskRun
  /** The session of the task. */
  readonly live: Live
  /** What it may use. */
  readonly reservation: Reservation
  /** Whether another process had begun it, which is no more. */
  readonly isResumed: boolean
  /** What the subagent has to know of the place that it works in. */
  note: string | undefined
  /** Ceilings from above as they were when it was asked for: for it they only narrow. */
  readonly captured: ReadonlyArray<Ruleset>
  /** How long it may take from when its turn has come, in milliseconds. */
  readonly timeout: number
  /** When it was asked for, by `live.elapsed` (ms). */
  readonly since: number
  /** When its turn came, after earlier runs of the same task, by `live.elapsed` (ms). */
  asked: number
  /** Makes its fiber, once, with its slot or without: then it settles and does not work. */
  readonly begin: Effect.Effect<void>
  hasBegun: boolean
  /** Calls off what would make it late, and gives its slot back, or its place in the queue, where it does not work. */
  callOff: () => void
  giveUp: () => void
  /** Whether its time was over before it had a slot. */
  isLate: boolean
  /** The fiber whose interruption ends the work, but not the run: it is settled after that. */
  working: Fiber.RuntimeFiber<unknown, unknown> | undefined
  /** Why the work was interrupted, where somebody asked for that. */
  stop: StopRequest | undefined
  /** Whether the outcome is being stored: from then on nothing changes it. */
  isSettling: boolean
  /** The fiber of the run; interrupted before there is any work, it settles too. */
  fiber: Fiber.RuntimeFiber<Outcome, StorageError> | undefined
  /** Whether it may go on without its caller. */
  readonly promotable: boolean
  /** Lets the call go that waits for the run; undefined where none waits. */
  answer: ((end: Exit.Exit<Outcome | Accepted, StorageError>) => void) | undefined
  /** Done when the outcome is stored, and on its way to whoever is told of it. */
  readonly ended: Deferred.Deferred<Outcome, StorageError>
}
