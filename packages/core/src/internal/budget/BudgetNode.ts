/** Owns what is held of the budget of one session: for its tasks, for its requests, and at the root for all that wait. */
import type { Account, Bound, Budget } from "@skein/domain/Budget"
import type { SessionID } from "@skein/domain/Id"
import type { Usage } from "@skein/domain/Usage"
import type * as Deferred from "effect/Deferred"
import type { BudgetExhausted } from "../../SessionError.ts"
import type { Amount } from "./amount.ts"
import { type Held as HeldSums, noneHeld } from "./held.ts"
import type { Need } from "./need.ts"

/** A session as its budget sees it. */
export interface BudgetedSession {
  readonly id: SessionID
  /** What it may use and has used, as that is stored; undefined where nothing bounds it. */
  readonly account: Account | undefined
  /** Brings the account up to date; it is stored with the next change of the session. */
  readonly keepAccount: (account: Account) => void
  /** What it and all below it have used. */
  readonly used: Usage
  /** The time, and how long people were waited for, in milliseconds. */
  readonly now: () => number
  readonly waited: () => number
  /** Whether it, or a task below it, goes on by itself. */
  readonly goesOn: () => boolean
  /** The budgets of the tasks that it has started and that have not settled. */
  readonly budgetsOfTasks: () => ReadonlyArray<BudgetNode>
}

/** What is kept for a task from the moment in which it was asked for until it has settled. */
export interface Reservation {
  /** What the task was given; undefined where it has no budget of its own. */
  readonly limit: Budget | undefined
  /** The session that works on it; undefined until that has begun. */
  node: BudgetNode | undefined
  /** How much of each is kept for it now, and in whose budgets that counts. */
  readonly kept: Map<Bound, Kept>
  /** Whether the task is one of those that were started, or is about to be. */
  isCounted: boolean
}

/** How much is kept, and in whose budgets that counts. */
interface Kept {
  readonly amount: Amount
  readonly holders: ReadonlyArray<BudgetNode>
}

/** What can be held: time passes for all at once, and tasks are no requests. */
export const bounds = ["tokens", "usd", "steps"] as const
/** One of these. */
export type Held = typeof bounds[number]

/** What a request may take. */
export interface Grant {
  /** The most output that it may have; undefined where no budget bounds that. */
  readonly cap: number | undefined
  /** The budget that allows no more than that; undefined where the model could not say more anyway. */
  readonly bound: Held | undefined
  /** Gives back what it holds; to be called once what it used is charged. */
  readonly release: () => void
}

/** A request that has not got what it needs. */
export interface Waiter {
  readonly node: BudgetNode
  readonly need: Need
  /** Whether the loop of its session waits with it. */
  readonly inLoop: boolean
  /** What its session has said so far, for where the budget is exhausted. */
  readonly said: () => string
  /** Hears at once what it is granted, whatever becomes of whoever waits. */
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
  /** What is held of its budget, by its tasks and by requests under way. */
  readonly held: HeldSums
  /** What its tasks were promised. */
  readonly reservations: Set<Reservation>
  /** What the run of it as a task was promised that is under way. */
  promise: Reservation | undefined
  /** Requests that wait for budget, at all levels, the first one first; kept at the root. */
  readonly waiters: Set<Waiter>
  /** Whether its loop waits for budget. */
  waits: boolean
  /** How many turns of it and of all below are under way; since when, and after what wait for people, that is not yet counted (ms). */
  readonly work: { turns: number; since: number; waited: number }
  /** At how many tokens a budget cut off its last answer; 0 where none did. */
  cutAt: number
  /** How many tokens each model counts for what was estimated as one; known at the root. */
  readonly rates: Map<string, number>
  /** What its model was told of budgets that come to their end. */
  readonly warned: Set<string>
}

/** The budget of a session of which nothing is held yet. Only the functions of this folder change it. */
export const makeBudgetNode = (session: BudgetedSession, parent: BudgetNode | undefined): BudgetNode => ({
  session,
  parent,
  held: noneHeld(),
  reservations: new Set(),
  promise: undefined,
  waiters: new Set(),
  waits: false,
  work: { turns: 0, since: 0, waited: 0 },
  cutAt: 0,
  rates: new Map(),
  warned: new Set()
})

/** The budget at the top. */
export const rootOf = (node: BudgetNode): BudgetNode => node.parent === undefined ? node : rootOf(node.parent)
