/** Decides how much of a budget is used, and reserves budget for tasks; what a task does not use is released when it ends. */
import { type Account, type Bound, type Budget, formatAmount, open, type Spent } from "@skein/domain/Budget"
import type { TaskRun } from "@skein/domain/Outcome"
import { addCost, exactCost, plainDecimal, type Usage } from "@skein/domain/Usage"
import * as BigDecimal from "effect/BigDecimal"
import { TaskRefused } from "../../TaskRequest.ts"
import {
  addHeld,
  type Amount,
  type BudgetNode,
  heldOf,
  leastOutput,
  type Reservation,
  toAmount,
  zero
} from "./BudgetNode.ts"

/** How long a session and those below it have worked since the last count, in milliseconds. */
const uncounted = (node: BudgetNode): number => {
  const { turns, since, waited } = node.work
  return turns === 0 ? 0 : node.session.now() - since - (node.session.waited() - waited)
}

/** Marks the start or end of a turn. The time at work of the session and of all above it runs while there is one. */
export const turnWorks = (node: BudgetNode, began: boolean): void => {
  for (let each: BudgetNode | undefined = node; each !== undefined; each = each.parent) {
    const budget = accountNow(each)
    if (budget !== undefined) each.session.keepAccount(budget)
    each.work.turns += began ? 1 : -1
    startCount(each)
  }
}

const startCount = (node: BudgetNode): void => {
  node.work.since = node.session.now()
  node.work.waited = node.session.waited()
}

/** The usage, with the time until now. */
const clocked = (node: BudgetNode, { spent }: Account): Spent => ({
  ...spent,
  time: spent.time + uncounted(node)
})

/** The budget status of a session; undefined if it has no budget. */
export const accountNow = (node: BudgetNode): Account | undefined => {
  const budget = node.session.account
  return budget === undefined ? undefined : { ...budget, spent: clocked(node, budget) }
}

/** What a session has used of its own budget so far. */
export const spentOf = (node: BudgetNode, account: Account, bound: Bound): Amount | undefined =>
  toAmount(clocked(node, account)[bound])

/** The budget of a session after a request of it or below it; nothing if it has none. */
export const spend = (node: BudgetNode, used: Usage): { readonly budget?: Account } => {
  const budget = node.session.account
  if (budget === undefined) return {}
  const spent = clocked(node, budget)
  startCount(node)
  return {
    budget: {
      ...budget,
      spent: {
        ...spent,
        tokens: spent.tokens + used.tokens.input + used.tokens.output,
        usd: exactCost(addCost(spent.usd, used.cost)),
        steps: spent.steps + used.steps
      }
    }
  }
}

/** The budget of a session after a task was started below it; nothing if it has none. */
export const spendTask = ({ session: { account: budget } }: BudgetNode): { readonly budget?: Account } =>
  budget === undefined ? {} : { budget: { ...budget, spent: { ...budget.spent, tasks: budget.spent.tasks + 1 } } }

/** The account without that task, which could not be stored; nothing if the session has a new account since. */
export const unspendTask = ({ session: { account: budget } }: BudgetNode, limit: Budget): Account | undefined =>
  budget?.limit === limit ? { ...budget, spent: { ...budget.spent, tasks: budget.spent.tasks - 1 } } : undefined

/** A budget that begins now. */
export const opened = (node: BudgetNode, limit: Budget, now: number): Account => {
  startCount(node)
  return open(limit, now)
}

/** A session and those above it. */
export const lineOf = (node: BudgetNode): ReadonlyArray<BudgetNode> =>
  node.parent === undefined ? [node] : [node, ...lineOf(node.parent)]

/** Whether a session works on its task's reservation: those above have reserved that, and do not count it twice. */
export const isPromised = ({ promise, session }: BudgetNode, bound: Bound): boolean =>
  promise?.kept?.has(bound) === true && session.account?.limit[bound] !== undefined

/** A session and those above it in whose budgets its holds count: up to the first one with its own reservation. */
export const holdersOf = (node: BudgetNode, bound: Bound): ReadonlyArray<BudgetNode> => {
  const line = lineOf(node)
  const at = line.findIndex((each) => isPromised(each, bound))
  return at < 0 ? line : line.slice(0, at + 1)
}

const keep = (reservation: Reservation, bound: Bound, amount: Amount, holders: ReadonlyArray<BudgetNode>): void => {
  const before = reservation.kept?.get(bound)?.amount ?? zero
  reservation.kept = (reservation.kept ?? new Map()).set(bound, { amount, holders })
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

/** Reduces a reservation by what the task has used of it. */
export const usePromise = ({ promise, session: { account: budget } }: BudgetNode): void => {
  if (promise === undefined) return
  for (const [bound, { holders }] of promise.kept ?? []) {
    const limit = toAmount(promise.limit?.[bound] ?? 0)
    const spent = budget === undefined || limit === undefined ? zero : toAmount(budget.spent[bound]) ?? limit
    keep(promise, bound, BigDecimal.max(zero, BigDecimal.subtract(limit ?? zero, spent)), holders)
  }
}

/** Ends a reservation: what the task did not use is free again. */
export const endPromise = (parent: BudgetNode, reservation: Reservation): void => {
  for (const [bound, { holders }] of reservation.kept ?? []) keep(reservation, bound, zero, holders)
  reservation.kept = undefined
  parent.reservations?.delete(reservation)
  if (reservation.node?.promise === reservation) reservation.node.promise = undefined
}

/** Releases the reservation of a task whose session got another budget. */
export const forgoPromise = ({ parent, promise }: BudgetNode): void => {
  if (parent !== undefined && promise !== undefined) endPromise(parent, promise)
}

/** What is left of one of the budgets that apply to a session. */
export interface Left {
  /** Whose budget it is. */
  readonly holder: BudgetNode
  readonly bound: Bound
  readonly limit: Amount
  /** Undefined if it is unknown. */
  readonly spent: Amount | undefined
  /** Reserved for tasks, other than those that the session belongs to. */
  readonly promised: Amount
}

/** Whether a session has a budget, its own or from above. */
export const isBounded = (node: BudgetNode): boolean =>
  node.session.account !== undefined || (node.parent !== undefined && isBounded(node.parent))

/** What is left of all budgets that apply to a session, nearest first. */
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

/** How much may still be reserved; nothing if the usage is unknown. */
const rest = ({ limit, promised, spent }: Left): Amount =>
  spent === undefined ? zero : BigDecimal.subtract(limit, BigDecimal.sum(spent, promised))

/** Characters of text per token, roughly. */
const charactersPerToken = 4

/** The minimum usage of a task's first request: its prompt and a short answer, at the prices paid so far. */
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
      } cannot be enforced: the price of a model that was used is unknown. Do the rest without tasks.`
      : `The budget of ${formatAmount(bound, plainDecimal(limit))} does not suffice for another task: ${
        plainDecimal(spent)
      } are used${kept}. Do the rest without tasks${kept === "" ? "" : ", or wait for those"}.`
  })
}

const least = (a: string | number, b: Amount): Amount => BigDecimal.min(toAmount(a) ?? zero, b)

/** Caps a requested budget by what is left above it. */
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
 * Reserves a budget for a task, as far as it is available; refuses if there is not even enough for one request. Open
 * requests do not count here: what they leave is released soon, and each request of the task is checked against all
 * budgets.
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
  const reservation: Reservation = { limit, node: undefined, kept: undefined, isCounted: true }
  parent.reservations = (parent.reservations ?? new Set()).add(reservation)
  if (limit !== undefined) keepAll(parent, reservation, limit)
  // The task itself counts towards the limit of tasks; it is counted when it is stored.
  for (const { held } of lineOf(parent)) addHeld(held.promised, "tasks", one)
  return reservation
}

/** The reserved task is stored as started, or never will be. */
export const settleCount = (parent: BudgetNode, reservation: Reservation): void => {
  if (!reservation.isCounted) return
  reservation.isCounted = false
  for (const { held } of lineOf(parent)) addHeld(held.promised, "tasks", BigDecimal.negate(one))
}

/** The reservation of a run that another process began: the task's own account has what it used. */
export const keptFor = (parent: BudgetNode, node: BudgetNode, { budget }: TaskRun): Reservation => {
  const isBegun = node.session.account !== undefined
  const reservation: Reservation = {
    limit: budget,
    node: isBegun ? node : undefined,
    kept: undefined,
    isCounted: false
  }
  parent.reservations = (parent.reservations ?? new Set()).add(reservation)
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

/** From now on the session of a task uses the task's reservation. */
export const beginPromise = (node: BudgetNode, reservation: Reservation): void => {
  node.promise = reservation
}

const holds = (node: BudgetNode, bound: Bound, line: ReadonlySet<BudgetNode>): boolean => {
  for (const reservation of node.reservations ?? []) {
    if (!holdsPromise(reservation, bound)) continue
    const { node: child } = reservation
    // A task that has not begun will get a slot, because agents that wait for budget release theirs.
    if (child === undefined || (!line.has(child) && child.session.canContinue())) return true
  }
  for (const task of node.session.budgetsOfTasks()) if (holds(task, bound, line)) return true
  return false
}

const holdsPromise = ({ kept }: Reservation, bound: Bound): boolean => {
  const found = kept?.get(bound)
  return found !== undefined && BigDecimal.isPositive(found.amount)
}

/** Whether others hold part of a budget and will release it without the request that asks. */
export const canComeBack = (asks: BudgetNode, holder: BudgetNode, bound: Bound): boolean => {
  const line = lineOf(asks)
  return line.slice(0, line.indexOf(holder) + 1).some(({ held }) =>
    BigDecimal.isPositive(heldOf(held.requested, bound))
  )
    || holds(holder, bound, new Set(line))
}
