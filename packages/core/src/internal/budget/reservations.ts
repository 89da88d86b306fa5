/** Keeps what was promised to tasks: nobody else is given that, and what a task does not use comes back when it ends. */
import { type Bound, type Budget, formatAmount } from "@skein/domain/Budget"
import type { TaskRun } from "@skein/domain/Outcome"
import { plainDecimal } from "@skein/domain/Usage"
import * as BigDecimal from "effect/BigDecimal"
import { TaskRefused } from "../../TaskError.ts"
import type { Live } from "../session/live.ts"
import { type Amount, spentOf, toAmount, zero } from "./account.ts"

/** What is kept for a task from the moment in which it was asked for until it has settled. */
export interface Reservation {
  /** What the task was given; undefined where it has no budget of its own. */
  readonly limit: Budget | undefined
  /** What its first request may take; kept for a task without a budget until it has made that. */
  readonly estimate: ReadonlyMap<Bound, Amount>
  /** The session that works on it; undefined until that has begun. */
  live: Live | undefined
  /** How many requests the session and those below it had made by then. */
  steps: number
}

/** What can be promised: time passes for all at once. */
const promised: ReadonlyArray<Bound> = ["tokens", "usd", "steps", "tasks"]

/** A session and those above it. */
export const lineOf = (live: Live): ReadonlyArray<Live> =>
  live.parent === undefined ? [live] : [live, ...lineOf(live.parent)]

/** What tasks below a session were promised and have not used, but for those that `line` belongs to. */
const heldBelow = (live: Live, bound: Bound, line: ReadonlySet<Live>): Amount => {
  if (bound === "time") return zero
  let sum = zero
  for (const { estimate, limit, live: child, steps } of live.reservations) {
    const isOurs = child !== undefined && line.has(child)
    const given = limit?.[bound]
    if (given !== undefined) {
      if (!isOurs) sum = BigDecimal.sum(sum, unused(child, given, bound))
      continue
    }
    const hasAsked = child !== undefined && child.info.usage.subtree.steps > steps
    if (!isOurs && !hasAsked) sum = BigDecimal.sum(sum, estimate.get(bound) ?? zero)
    if (child !== undefined) sum = BigDecimal.sum(sum, heldBelow(child, bound, line))
  }
  return sum
}

const unused = (child: Live | undefined, given: string | number, bound: Bound): Amount => {
  const limit = toAmount(given) ?? zero
  const account = child?.info.budget
  if (child === undefined || account === undefined) return limit
  return BigDecimal.max(zero, BigDecimal.subtract(limit, spentOf(child, account, bound) ?? limit))
}

/** What is left of one of the budgets that hold for a session. */
export interface Left {
  /** Whose budget it is. */
  readonly holder: Live
  readonly bound: Bound
  readonly limit: Amount
  /** Undefined where it cannot be known. */
  readonly spent: Amount | undefined
  /** Kept for tasks at work, other than the session in question. */
  readonly held: Amount
}

/** What is left of all budgets that hold for a session, the nearest first. */
export const leftFor = (live: Live): ReadonlyArray<Left> => {
  const line = lineOf(live)
  if (line.every(({ info }) => info.budget === undefined)) return []
  const members = new Set(line)
  return line.flatMap((holder) => {
    const account = holder.info.budget
    if (account === undefined) return []
    return (Object.keys(account.limit) as ReadonlyArray<Bound>).flatMap((bound) => {
      const given = account.limit[bound]
      const limit = given === undefined ? undefined : toAmount(given)
      if (limit === undefined) return []
      const spent = spentOf(holder, account, bound)
      return [{ holder, bound, limit, spent, held: heldBelow(holder, bound, members) }]
    })
  })
}

/** How much may still be used; nothing where nobody knows what was. */
export const rest = ({ held, limit, spent }: Left): Amount =>
  spent === undefined ? zero : BigDecimal.subtract(limit, BigDecimal.sum(spent, held))

/** In about how many characters of text there is a token. */
const charactersPerToken = 4

/** What the first request of a task takes at least: what it is told, at the prices that were paid so far. */
const estimateOf = ({ info }: Live, told: string): ReadonlyMap<Bound, Amount> => {
  const { cost, tokens } = info.usage.subtree
  const count = BigDecimal.fromBigInt(BigInt(Math.ceil(told.length / charactersPerToken)))
  const before = BigDecimal.fromBigInt(BigInt(Math.max(1, tokens.input + tokens.output)))
  return new Map<Bound, Amount>([
    ["tokens", count],
    ["usd", BigDecimal.multiply(BigDecimal.unsafeDivide(toAmount(cost) ?? zero, before), count)],
    ["steps", BigDecimal.fromBigInt(1n)],
    ["tasks", zero]
  ])
}

const refused = ({ bound, held, limit, spent }: Left): TaskRefused => {
  const kept = BigDecimal.isPositive(held) ? `, ${plainDecimal(held)} are kept for tasks at work` : ""
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
const cap = (wanted: Budget, left: ReadonlyArray<Left>): Budget => {
  const capped: Partial<Record<Bound, string | number | undefined>> = { ...wanted }
  for (const each of left) {
    const present = capped[each.bound]
    if (present === undefined) continue
    const amount = plainDecimal(least(present, rest(each)))
    capped[each.bound] = each.bound === "usd" ? amount : Number(amount)
  }
  return capped as Budget
}

/** Keeps for a task what it wants, as far as there is so much; refuses it where there is not even enough for a request. */
export const reserve = (
  parent: Live,
  wanted: Budget | undefined,
  told: string
): Reservation | TaskRefused => {
  const left = leftFor(parent)
  const estimate = left.length === 0 ? new Map<Bound, Amount>() : estimateOf(parent, told)
  const short = left.find((each) => {
    const free = rest(each)
    return !BigDecimal.isPositive(free) || BigDecimal.greaterThan(estimate.get(each.bound) ?? zero, free)
  })
  if (short !== undefined) return refused(short)
  const limit = wanted === undefined ? undefined : cap(wanted, left)
  const reservation: Reservation = { limit, estimate, live: undefined, steps: 0 }
  parent.reservations.add(reservation)
  return reservation
}

/** What was kept for a run that another process had begun: what it has used of that stands in the task's own account. */
export const keptFor = (parent: Live, live: Live, { before, budget }: TaskRun): Reservation => {
  const reservation: Reservation = {
    limit: budget,
    estimate: new Map<Bound, Amount>(),
    live: live.info.budget === undefined ? undefined : live,
    steps: before?.steps ?? 0
  }
  parent.reservations.add(reservation)
  return reservation
}

/** What all tasks below a session were promised and have not used. */
export const promisedBelow = (live: Live): Partial<Record<Bound, string>> =>
  Object.fromEntries(
    promised.flatMap((bound) => {
      const held = heldBelow(live, bound, new Set())
      return BigDecimal.isPositive(held) ? [[bound, plainDecimal(held)]] : []
    })
  )
