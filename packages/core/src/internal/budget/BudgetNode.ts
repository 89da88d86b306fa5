/**
 * Owns the budget of a session: what counts in it, what is held of it for tasks and requests, and the queue of the waiting
 * requests of its tree.
 */
import { type Account, type Bound, type Budget, isBudget } from "@skein/domain/Budget"
import type { SessionID } from "@skein/domain/Id"
import { type Cost, plainDecimal, type Price, type Usage } from "@skein/domain/Usage"
import * as BigDecimal from "effect/BigDecimal"
import type * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { type BudgetExhausted, BudgetInvalid } from "../../Turn.ts"

/** An exact amount of what a budget limits. */
export type Amount = BigDecimal.BigDecimal

/** Nothing. */
export const zero: Amount = BigDecimal.fromBigInt(0n)

/** A stored amount; undefined if it is unknown. Of a cost that is known in part, it is that part. */
export const toAmount = (stored: string | number): Amount | undefined =>
  stored === "unknown" ? undefined : BigDecimal.unsafeFromString(String(stored).replace("+", ""))

/** How much of each is held. */
class Sums {
  /** Most sessions hold nothing. */
  #amounts: Map<Bound, Amount> | undefined

  get(bound: Bound): Amount | undefined {
    return this.#amounts?.get(bound)
  }

  /** What is held. */
  get bounds(): ReadonlyArray<Bound> {
    return this.#amounts === undefined ? [] : [...this.#amounts.keys()]
  }

  /** Sets what is held; zero is nothing. */
  set(bound: Bound, amount: Amount): void {
    if (!BigDecimal.isZero(amount)) (this.#amounts ??= new Map()).set(bound, amount)
    else if (this.#amounts?.delete(bound) === true && this.#amounts.size === 0) this.#amounts = undefined
  }
}

/** What is held of a session's budget, whether or not it has one. */
interface HeldSums {
  /** For tasks below it with their own budget: the unused part. */
  readonly promised: Sums
  /** For open requests: its own, and those below that no reservation covers. */
  readonly requested: Sums
}

/** Nothing is held. */
const noneHeld = (): HeldSums => ({ promised: new Sums(), requested: new Sums() })

/** How much is held. */
export const heldOf = (sums: Sums, bound: Bound): Amount => sums.get(bound) ?? zero

/** Everything that is held, for display. */
export const keptBelow = ({ promised, requested }: HeldSums): Partial<Record<Bound, string>> =>
  Object.fromEntries(
    [...new Set([...promised.bounds, ...requested.bounds])].map((bound) => [
      bound,
      plainDecimal(BigDecimal.sum(heldOf(promised, bound), heldOf(requested, bound)))
    ])
  )

/** Adds to what is held, or subtracts from it. */
export const addHeld = (sums: Sums, bound: Bound, amount: Amount): void => {
  sums.set(bound, BigDecimal.sum(heldOf(sums, bound), amount))
}

/** The smallest useful output, in tokens. */
export const leastOutput = 256

/** Most answers are shorter than this: a request waits for that much if others are about to release it. */
export const usualOutput = 8_192

/** What a request needs. */
export interface Need {
  /** Its estimated input, in tokens. */
  readonly input: number
  /** How many steps it counts as. */
  readonly steps: 0 | 1
  readonly price: Price | undefined
  /** The maximum useful output: the model's limit. `Infinity` if unknown. */
  readonly most: number
  /** The minimum output: with less it is not sent. */
  readonly least: number
  /** The output that it waits for while open requests may release it. */
  readonly preferred: number
}

const perToken = (price: Cost | undefined): Amount =>
  price === undefined ? zero : BigDecimal.multiply(toAmount(price) ?? zero, BigDecimal.make(1n, 6))

/** The maximum price of an input token: writing it to a cache may cost more. */
const inputPrice = (price: Price | undefined): Amount =>
  BigDecimal.max(perToken(price?.input), perToken(price?.cacheWrite))

const count = (tokens: number): Amount => BigDecimal.fromBigInt(BigInt(Math.ceil(tokens)))

/** How much a request with that much output takes of a bound. */
export const amountOf = ({ input, price, steps }: Need, bound: Bound, output: number): Amount => {
  switch (bound) {
    case "tokens":
      return count(input + output)
    case "usd":
      return BigDecimal.sum(
        BigDecimal.multiply(inputPrice(price), count(input)),
        BigDecimal.multiply(perToken(price?.output), count(output))
      )
    case "steps":
      return count(steps)
    default:
      return zero
  }
}

/** How much output a request may have if that much is free; below zero if even its input does not fit. */
export const outputWithin = (need: Need, bound: Bound, free: Amount): number => {
  const left = BigDecimal.unsafeToNumber(BigDecimal.subtract(free, amountOf(need, bound, 0)))
  if (left < 0) return -1
  if (bound === "tokens") return Math.floor(left)
  const price = bound === "usd" ? BigDecimal.unsafeToNumber(perToken(need.price?.output)) : 0
  return price === 0 ? Number.POSITIVE_INFINITY : Math.floor(left / price)
}

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

/** Notes how many tokens a model counted for one estimated token. */
export const noteRate = (node: BudgetNode, model: string, rate: number): void => {
  node.rates.set(model, rate)
}

/** How many tokens a model counts for one estimated token; undefined if unknown. */
export const rateOf = (node: BudgetNode, model: string): number | undefined => node.rates.get(model)

/** Notes the token count at which a budget cut off the last answer; 0 if none did. */
export const noteCutOff = (node: BudgetNode, tokens: number): void => {
  node.cutAt = tokens
}

const shown = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) => typeof each === "number" ? String(each) : each)

/** Why a value is not a budget; undefined if it is one. */
export const budgetFault = (budget: Budget): string | undefined =>
  isBudget(budget) ?
    undefined :
    `A budget has amounts above 0 (tokens, usd, steps, time, tasks): ${
      shown(budget)
    } is none. Leave out what is not to be bounded.`

/** Fails if a value is not a valid budget. */
export const checkBudget = (budget: Budget | undefined): Effect.Effect<void, BudgetInvalid> => {
  const message = budget === undefined ? undefined : budgetFault(budget)
  return message === undefined ? Effect.void : new BudgetInvalid({ message })
}
