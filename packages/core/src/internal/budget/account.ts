/** Decides how much of a budget is used: by requests, by time at work, and by tasks. */
import { type Account, type Bound, type Budget, open, type Spent } from "@skein/domain/Budget"
import { addCost, exactCost, type Usage } from "@skein/domain/Usage"
import { type Amount, toAmount } from "./amount.ts"
import type { BudgetNode } from "./BudgetNode.ts"

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
