/**
 * Owns the reservations on a session's budget: for its tasks and its requests, and the queue of the waiting requests of
 * its tree.
 */
import type { Account, Bound, Budget } from "@skein/domain/Budget"
import type { SessionID } from "@skein/domain/Id"
import type { Usage } from "@skein/domain/Usage"
import type * as Deferred from "effect/Deferred"
import type { BudgetExhausted } from "../../SessionError.ts"
import type { Amount } from "./amount.ts"
import { type Held as HeldSums, noneHeld } from "./held.ts"
import type { Need } from "./need.ts"

/** The part of a session that its budget reads. */
export interface BudgetedSession {
  readonly id: SessionID
  /** Its limit and usage, as stored; undefined if it has no budget. */
  readonly account: Account | undefined
  /** Updates the account; it is stored with the next change of the session. */
  readonly keepAccount: (account: Account) => void
  /** The usage of the session and everything below it. */
  readonly used: Usage
  /** The time, and how long people were waited for, in milliseconds. */
  readonly now: () => number
  readonly waited: () => number
  /** Whether its loop, or that of a task below it, can continue without help. */
  readonly canContinue: () => boolean
  /** The budgets of the tasks that it started and that are not settled. */
  readonly budgetsOfTasks: () => ReadonlyArray<BudgetNode>
}

/** What is reserved for a task from its request until it has settled. */
export interface Reservation {
  /** The budget of the task; undefined if it has none. */
  readonly limit: Budget | undefined
  /** The session that works on it; undefined until the run begins. */
  node: BudgetNode | undefined
  /** How much of each bound is reserved now, and in whose budgets that counts; undefined if nothing is. */
  kept: Map<Bound, Kept> | undefined
  /** Whether the task was started, or is about to be. */
  isCounted: boolean
}

/** How much is held, and in whose budgets that counts. */
interface Kept {
  readonly amount: Amount
  readonly holders: ReadonlyArray<BudgetNode>
}

/** What can be held: time passes for all at once, and tasks are not requests. */
export const bounds = ["tokens", "usd", "steps"] as const
/** One of these. */
export type Held = typeof bounds[number]

/** What a request may take. */
export interface Grant {
  /** The maximum output of the request; undefined if no budget limits it. */
  readonly cap: number | undefined
  /** The budget that sets this maximum; undefined if the model could not produce more anyway. */
  readonly bound: Held | undefined
  /** Releases what it holds; call it once the usage is charged. */
  readonly release: () => void
}

/** A request that waits for budget. */
export interface Waiter {
  readonly node: BudgetNode
  readonly need: Need
  /** Whether the loop of its session waits with it. */
  readonly inLoop: boolean
  /** What its session has said so far, for the error of an exhausted budget. */
  readonly said: () => string
  /** Called at once with the grant, even if the request was abandoned. */
  readonly granted: (grant: Grant) => void
  readonly done: Deferred.Deferred<Grant, BudgetExhausted>
  grant: Grant | undefined
  /** What it waits for, in words. */
  why: { readonly which: Held; readonly message: string } | undefined
  isOver: boolean
}

/** The budget of one session, below those of the sessions above it. */
export interface BudgetNode {
  readonly session: BudgetedSession
  readonly parent: BudgetNode | undefined
  /** What its tasks and open requests hold of its budget. */
  readonly held: HeldSums
  /** What its tasks were promised; undefined before the first one. */
  reservations: Set<Reservation> | undefined
  /** The reservation of the current run, if the session is a task. */
  promise: Reservation | undefined
  /** The requests of the tree that wait for budget, in order; the same for all its sessions. */
  readonly waiters: Set<Waiter>
  /** Whether its loop waits for budget. */
  waits: boolean
  /**
   * The number of running turns at and below it, and since when, and after how much waiting for people, they have not
   * been counted (ms).
   */
  readonly work: { turns: number; since: number; waited: number }
  /** The token count at which a budget cut off its last answer; 0 if none did. */
  cutAt: number
  /** How many tokens each model counts for one estimated token; the same for all sessions of the tree. */
  readonly rates: Map<string, number>
  /** The budget warnings that its model has read; undefined before the first one. */
  warned: Set<string> | undefined
}

/** The budget of a new session. Only the functions of this folder change it. */
export const makeBudgetNode = (session: BudgetedSession, parent: BudgetNode | undefined): BudgetNode => ({
  session,
  parent,
  held: noneHeld(),
  reservations: undefined,
  promise: undefined,
  waiters: parent?.waiters ?? new Set(),
  waits: false,
  work: { turns: 0, since: 0, waited: 0 },
  cutAt: 0,
  rates: parent?.rates ?? new Map(),
  warned: undefined
})
