/** Decides how much of a budget is used: by requests, by time at work, and by tasks. */
import { type Account, type Bound, type Budget, open, type Spent } from "@skein/domain/Budget"
import { addCost, type Usage } from "@skein/domain/Usage"
import * as BigDecimal from "effect/BigDecimal"
import { type Live, waitedForPeople } from "../live/live.ts"

/** An exact amount of what a budget bounds. */
export type Amount = BigDecimal.BigDecimal

/** Nothing. */
export const zero: Amount = BigDecimal.fromBigInt(0n)

/** An amount as it is stored; undefined where nobody knows it. */
export const toAmount = (stored: string | number): Amount | undefined =>
  stored === "unknown" ? undefined : BigDecimal.unsafeFromString(String(stored))

/** How long a session and those below it have worked since that was last counted, in milliseconds. */
const uncounted = (live: Live): number => {
  const { turns, since, waited } = live.work
  return turns === 0 ? 0 : live.elapsed() - since - (waitedForPeople(live) - waited)
}

/** Marks that a turn begins or ends: the time at work of the session and of all above runs while there is one. */
export const turnWorks = (live: Live, began: boolean): void => {
  for (let each: Live | undefined = live; each !== undefined; each = each.parent) {
    const budget = accountNow(each)
    if (budget !== undefined) each.info = { ...each.info, budget }
    each.work.turns += began ? 1 : -1
    startCount(each)
  }
}

const startCount = (live: Live): void => {
  live.work.since = live.elapsed()
  live.work.waited = waitedForPeople(live)
}

/** What is used, with the time until now. */
const clocked = (live: Live, { spent }: Account): Spent => ({
  ...spent,
  time: spent.time + uncounted(live)
})

/** The budget of a session as it stands now; undefined where it has none. */
export const accountNow = (live: Live): Account | undefined => {
  const { budget } = live.info
  return budget === undefined ? undefined : { ...budget, spent: clocked(live, budget) }
}

/** What a session has used of a budget of its own, until now. */
export const spentOf = (live: Live, account: Account, bound: Bound): Amount | undefined =>
  toAmount(clocked(live, account)[bound])

/** What a request used. One whose model does not say so makes the sum unknown. */
const tokensOf = ({ cost, steps, tokens }: Usage): number | "unknown" => {
  const sum = tokens.input + tokens.output
  return sum === 0 && steps > 0 && cost === "unknown" ? "unknown" : sum
}

const addTokens = (a: Spent["tokens"], b: Spent["tokens"]): Spent["tokens"] =>
  a === "unknown" || b === "unknown" ? "unknown" : a + b

/** The budget of a session after a request of it or below it; nothing where it has none. */
export const spend = (live: Live, used: Usage): { readonly budget?: Account } => {
  const { budget } = live.info
  if (budget === undefined) return {}
  const spent = clocked(live, budget)
  startCount(live)
  return {
    budget: {
      ...budget,
      spent: {
        ...spent,
        tokens: addTokens(spent.tokens, tokensOf(used)),
        usd: addCost(spent.usd, used.cost),
        steps: spent.steps + used.steps
      }
    }
  }
}

/** The budget of a session after a task was started below it; nothing where it has none. */
export const spendTask = ({ info: { budget } }: Live): { readonly budget?: Account } =>
  budget === undefined ? {} : { budget: { ...budget, spent: { ...budget.spent, tasks: budget.spent.tasks + 1 } } }

/** A budget that begins now. */
export const opened = (live: Live, limit: Budget, now: number): Account => {
  startCount(live)
  return open(limit, now)
}
