/** Keeps what was promised to tasks: nobody else is given that, and what a task does not use comes back when it ends. */
import { type Bound, type Budget, formatAmount } from "@skein/domain/Budget"
import type { TaskRun } from "@skein/domain/Outcome"
import { plainDecimal } from "@skein/domain/Usage"
import * as BigDecimal from "effect/BigDecimal"
import { TaskRefused } from "../../TaskError.ts"
import { spentOf } from "./account.ts"
import { type Amount, toAmount, zero } from "./amount.ts"
import type { BudgetNode, Reservation } from "./BudgetNode.ts"
import { addHeld, heldOf } from "./held.ts"
import { leastOutput } from "./need.ts"

/** A session and those above it. */
export const lineOf = (node: BudgetNode): ReadonlyArray<BudgetNode> =>
  node.parent === undefined ? [node] : [node, ...lineOf(node.parent)]

/** Whether a session works on what its task was promised: then those above have kept that, and count it no second time. */
export const isPromised = ({ promise, session }: BudgetNode, bound: Bound): boolean =>
  promise?.kept.has(bound) === true && session.account?.limit[bound] !== undefined

/** A session and those above it in whose budgets counts what it holds: up to the first one that was promised its own. */
export const holdersOf = (node: BudgetNode, bound: Bound): ReadonlyArray<BudgetNode> => {
  const line = lineOf(node)
  const at = line.findIndex((each) => isPromised(each, bound))
  return at < 0 ? line : line.slice(0, at + 1)
}

const keep = (reservation: Reservation, bound: Bound, amount: Amount, holders: ReadonlyArray<BudgetNode>): void => {
  const before = reservation.kept.get(bound)?.amount ?? zero
  reservation.kept.set(bound, { amount, holders })
  const change = BigDecimal.subtract(amount, before)
  for (const { held } of holders) addHeld(held.promised, bound, change)
}

const keepAll = (parent: BudgetNode, reservation: Reservation, limit: Budget): void => {
  for (const bound of Object.keys(limit) as ReadonlyArray<Bound>) {
    const amount = toAmount(limit[bound] ?? 0)
    if (bound !== "time" && amount !== undefined && BigDecimal.isPositive(amount)) {
      keep(reservation, bound, amount, holdersOf(parent, bound))
    }
  }
}

/** Gives back what the task of a session has used of its promise: it is used now, and no longer kept. */
export const usePromise = ({ promise, session: { account: budget } }: BudgetNode): void => {
  if (promise === undefined) return
  for (const [bound, { holders }] of promise.kept) {
    const limit = toAmount(promise.limit?.[bound] ?? 0)
    const spent = budget === undefined || limit === undefined ? zero : toAmount(budget.spent[bound]) ?? limit
    keep(promise, bound, BigDecimal.max(zero, BigDecimal.subtract(limit ?? zero, spent)), holders)
  }
}

/** Ends a promise: what the task did not use is free again. */
export const endPromise = (parent: BudgetNode, reservation: Reservation): void => {
  for (const [bound, { holders }] of reservation.kept) keep(reservation, bound, zero, holders)
  reservation.kept.clear()
  parent.reservations.delete(reservation)
  if (reservation.node?.promise === reservation) reservation.node.promise = undefined
}

/** A session has another budget than its task was promised: that is free again. */
export const forgoPromise = ({ parent, promise }: BudgetNode): void => {
  if (parent !== undefined && promise !== undefined) endPromise(parent, promise)
}

/** What is left of one of the budgets that hold for a session. */
export interface Left {
  /** Whose budget it is. */
  readonly holder: BudgetNode
  readonly bound: Bound
  readonly limit: Amount
  /** Undefined where it cannot be known. */
  readonly spent: Amount | undefined
  /** Promised to tasks, other than those that the session belongs to. */
  readonly promised: Amount
}

/** Whether a budget of its own, or of those above, holds for a session. */
export const isBounded = (node: BudgetNode): boolean =>
  node.session.account !== undefined || (node.parent !== undefined && isBounded(node.parent))

/** What is left of all budgets that hold for a session, the nearest first. */
export const leftFor = (node: BudgetNode): ReadonlyArray<Left> => {
  if (!isBounded(node)) return []
  const own = new Map<Bound, Amount>()
  return lineOf(node).flatMap((holder) => {
    const { promise, session: { account } } = holder
    const found = account === undefined ? [] : (Object.keys(account.limit) as ReadonlyArray<Bound>).flatMap((bound) => {
      const limit = toAmount(account.limit[bound] ?? "unknown")
      if (limit === undefined) return []
      const promised = BigDecimal.subtract(heldOf(holder.held.promised, bound), own.get(bound) ?? zero)
      return [{ holder, bound, limit, spent: spentOf(holder, account, bound), promised }]
    })
    for (const [bound, { amount }] of promise?.kept ?? []) own.set(bound, amount)
    return found
  })
}

/** How much may still be promised; nothing where nobody knows what was used. */
const rest = ({ limit, promised, spent }: Left): Amount =>
  spent === undefined ? zero : BigDecimal.subtract(limit, BigDecimal.sum(spent, promised))

/** In about how many characters of text there is a token. */
const charactersPerToken = 4

/** What the first request of a task takes at least: what it is told and a short answer, at the prices that were paid so far. */
const estimateOf = ({ session }: BudgetNode, promptText: string): ReadonlyMap<Bound, Amount> => {
  const { cost, tokens } = session.used
  const count = BigDecimal.fromBigInt(BigInt(Math.ceil(promptText.length / charactersPerToken) + leastOutput))
  const before = BigDecimal.fromBigInt(BigInt(Math.max(1, tokens.input + tokens.output)))
  return new Map<Bound, Amount>([
    ["tokens", count],
    ["usd", BigDecimal.multiply(BigDecimal.unsafeDivide(toAmount(cost) ?? zero, before), count)]
  ])
}

const refused = ({ bound, limit, promised, spent }: Left): TaskRefused => {
  const kept = BigDecimal.isPositive(promised) ? `, ${plainDecimal(promised)} are kept for tasks at work` : ""
  return new TaskRefused({
    reason: "budget",
    message: spent === undefined
      ? `The budget of ${
        formatAmount(bound, plainDecimal(limit))
      } cannot be kept, for the model does not say what it uses. Do the rest without tasks.`
      : `The budget of ${formatAmount(bound, plainDecimal(limit))} does not suffice for another task: ${
        plainDecimal(spent)
      } are used${kept}. Do the rest without tasks${kept === "" ? "" : ", or wait for those"}.`
  })
}

const least = (a: string | number, b: Amount): Amount => BigDecimal.min(toAmount(a) ?? zero, b)

/** What a task may have of what it wants: never more than is left above it. */
const cap = (requested: Budget, left: ReadonlyArray<Left>): Budget => {
  const capped: Partial<Record<Bound, string | number | undefined>> = { ...requested }
  for (const each of left) {
    const present = capped[each.bound]
    if (present === undefined) continue
    const amount = plainDecimal(least(present, rest(each)))
    capped[each.bound] = each.bound === "usd" ? amount : Number(amount)
  }
  return capped as Budget
}

const one = BigDecimal.fromBigInt(1n)

/**
 * Keeps for a task what it wants, as far as there is so much; refuses it where there is not even enough for a request.
 * Requests under way do not count here: what they leave comes back soon, and each request of the task is held against all.
 */
export const reserve = (
  parent: BudgetNode,
  requested: Budget | undefined,
  promptText: string
): Reservation | TaskRefused => {
  const left = leftFor(parent)
  const estimate = left.length === 0 ? new Map<Bound, Amount>() : estimateOf(parent, promptText)
  const short = left.find((each) => {
    const free = rest(each)
    return !BigDecimal.isPositive(free) || BigDecimal.greaterThan(estimate.get(each.bound) ?? zero, free)
  })
  if (short !== undefined) return refused(short)
  const limit = requested === undefined ? undefined : cap(requested, left)
  const reservation: Reservation = { limit, node: undefined, kept: new Map(), isCounted: true }
  parent.reservations.add(reservation)
  if (limit !== undefined) keepAll(parent, reservation, limit)
  // The task itself is one of those that may be started; it is counted when it is stored.
  for (const { held } of lineOf(parent)) addHeld(held.promised, "tasks", one)
  return reservation
}

/** The task of a reservation is stored as started, or never will be. */
export const settleCount = (parent: BudgetNode, reservation: Reservation): void => {
  if (!reservation.isCounted) return
  reservation.isCounted = false
  for (const { held } of lineOf(parent)) addHeld(held.promised, "tasks", BigDecimal.negate(one))
}

/** What was kept for a run that another process had begun: what it has used of that stands in the task's own account. */
export const keptFor = (parent: BudgetNode, node: BudgetNode, { budget }: TaskRun): Reservation => {
  const isBegun = node.session.account !== undefined
  const reservation: Reservation = {
    limit: budget,
    node: isBegun ? node : undefined,
    kept: new Map(),
    isCounted: false
  }
  parent.reservations.add(reservation)
  if (budget !== undefined) keepAll(parent, reservation, budget)
  if (isBegun && budget !== undefined) {
    node.promise = reservation
    usePromise(node)
  }
  return reservation
}

/** Notes which session works on a task. */
export const workOn = (node: BudgetNode, reservation: Reservation): void => {
  reservation.node = node
}

/** From now on the session of a task uses what the task was promised. */
export const beginPromise = (node: BudgetNode, reservation: Reservation): void => {
  node.promise = reservation
}
