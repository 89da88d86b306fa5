/**
 * Checks the budgets before each request: an exhausted one ends the turn, and the model reads a warning about one that
 * is nearly exhausted.
 */
import { type Bound, formatAmount } from "@skein/domain/Budget"
import { formatRef, type ModelInfo } from "@skein/domain/Model"
import { plainDecimal } from "@skein/domain/Usage"
import * as BigDecimal from "effect/BigDecimal"
import { ModelUnavailable } from "../../Provider.ts"
import { BudgetExhausted } from "../../SessionError.ts"
import type { BudgetNode } from "./BudgetNode.ts"
import { type Left, leftFor, lineOf } from "./reservations.ts"

/** The share of a budget at which to warn the model. */
const late = BigDecimal.unsafeFromString("0.8")

/** Where a budget is set. */
export const budgetFlags: Record<Exclude<Bound, "tasks">, string> = {
  tokens: "--budget-tokens",
  usd: "--budget-usd",
  steps: "budget.steps",
  time: "budget.time"
}

/** The owner of a budget, from the view of a session. */
export const whose = (node: BudgetNode, holder: BudgetNode): string =>
  holder === node ? "this session and all below it" : `the session ${holder.session.id} above and all below that`

const why = (node: BudgetNode, { bound, holder, limit, spent }: Left): string => {
  const amount = formatAmount(bound, plainDecimal(limit))
  return spent === undefined
    ? `The budget of ${amount} cannot be enforced: the price of a model that was used is unknown. Set its price in skein.json, or set a budget of tokens.`
    : `The budget of ${amount} for ${whose(node, holder)} is used up: ${plainDecimal(spent)} are used.`
}

/**
 * Why no more requests may be sent; `said` is what the session said last. What others hold is not used up: requests
 * wait for it.
 */
export const exhausted = (node: BudgetNode, said: () => string): BudgetExhausted | undefined => {
  for (const left of leftFor(node)) {
    const { bound, limit, spent } = left
    // A session that may start no more tasks can still work.
    if (bound === "tasks" || (spent !== undefined && BigDecimal.lessThan(spent, limit))) continue
    return new BudgetExhausted({
      holder: left.holder.session.id,
      which: bound,
      amount: formatAmount(bound, plainDecimal(left.limit)),
      text: said(),
      message: `${why(node, left)} What was done is kept. To continue, set a new budget (${budgetFlags[bound]}).`
    })
  }
  return undefined
}

/** The budget cut an answer off, and what is left is not enough for the rest. */
export const cutOff = (node: BudgetNode, which: "tokens" | "usd" | "steps", text: string): BudgetExhausted => {
  const { session: { account, id } } = lineOf(node).find(({ session }) => session.account?.limit[which] !== undefined)
    ?? node
  const limit = account?.limit[which]
  return new BudgetExhausted({
    holder: id,
    which,
    amount: limit === undefined ? which : formatAmount(which, limit),
    text,
    message:
      `The answer was cut off: the budget of ${which} of ${id} does not suffice for the rest of it. What was done is kept. To continue, set a new budget (${
        budgetFlags[which]
      }).`
  })
}

const isLate = ({ limit, spent }: Left): boolean =>
  spent !== undefined && BigDecimal.greaterThanOrEqualTo(spent, BigDecimal.multiply(limit, late))

/** The budget warnings for a model, each only once for each budget. */
export const warning = (node: BudgetNode): string | undefined => {
  const news = leftFor(node).filter((left) => {
    const key = `${left.holder.session.id} ${left.holder.session.account?.since} ${left.bound}`
    if (node.warned?.has(key) === true || !isLate(left)) return false
    node.warned = (node.warned ?? new Set()).add(key)
    return true
  })
  if (news.length === 0) return undefined
  const lines = news.map((left) =>
    `- ${plainDecimal(left.spent ?? left.limit)} of ${formatAmount(left.bound, plainDecimal(left.limit))}, for ${
      whose(node, left.holder)
    }`
  )
  return `More than 80 % of what may be used is used:\n${
    lines.join("\n")
  }\nCome to a conclusion: finish what matters most, and say what remains to be done.`
}

/** Whether a request may be sent under a budget of money: a cost that cannot be counted cannot be limited. */
export const unpriced = (node: BudgetNode, { price, ...model }: ModelInfo): ModelUnavailable | undefined => {
  if (price !== undefined && price.input !== "unknown" && price.output !== "unknown") return undefined
  const holder = lineOf(node).find(({ session }) => session.account?.limit.usd !== undefined)
  return holder === undefined ? undefined : new ModelUnavailable({
    model: formatRef(model),
    reason: "unknown_price",
    message: `The price of ${
      formatRef(model)
    } is not known, so that a budget of ${holder.session.account?.limit.usd} USD cannot be kept. Set provider.${model.providerID}.models.${model.modelID}.price in skein.json, or drop --budget-usd.`
  })
}
