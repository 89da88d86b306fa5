/**
 * Checks budgets before each request, and owns what open requests hold of them. An exhausted budget ends the turn, and
 * the model reads a warning about one that is nearly exhausted. Each request holds its maximum before it is sent, or
 * waits until others release.
 */
import { type Bound, formatAmount } from "@skein/domain/Budget"
import { formatRef, type ModelInfo } from "@skein/domain/Model"
import { plainDecimal } from "@skein/domain/Usage"
import * as BigDecimal from "effect/BigDecimal"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { none as noFiber } from "effect/FiberId"
import { ModelUnavailable } from "../../Provider.ts"
import { BudgetExhausted } from "../../Turn.ts"
import {
  addHeld,
  type Amount,
  amountOf,
  bounds,
  type BudgetNode,
  type Grant,
  type Held,
  heldOf,
  type Need,
  outputWithin,
  toAmount,
  type Waiter,
  zero
} from "./BudgetNode.ts"
import { canComeBack, holdersOf, isPromised, type Left, leftFor, lineOf, spentOf } from "./reservations.ts"

/** The share of a budget at which to warn the model. */
const late = BigDecimal.unsafeFromString("0.8")

/** Where a budget is set. */
const budgetFlags: Record<Exclude<Bound, "tasks">, string> = {
  tokens: "--budget-tokens",
  usd: "--budget-usd",
  steps: "budget.steps",
  time: "budget.time"
}

/** The owner of a budget, from the view of a session. */
const whose = (node: BudgetNode, holder: BudgetNode): string =>
  holder === node ? "this session and all below it" : `the session ${holder.session.id} above and all below that`

const unenforceable = (amount: string): string =>
  `The budget of ${amount} cannot be enforced: the price of a model that was used is unknown. Set its price in skein.json, or set a budget of tokens.`

const why = (node: BudgetNode, { bound, holder, limit, spent }: Left): string => {
  const amount = formatAmount(bound, plainDecimal(limit))
  return spent === undefined
    ? unenforceable(amount)
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
    message: `Skein cannot enforce the budget of ${holder.session.account?.limit.usd} USD: the price of ${
      formatRef(model)
    } is unknown. Set provider.${model.providerID}.models.${model.modelID}.price in skein.json, or drop that budget (\`--budget-usd\`, or \`budget.usd\` in config).`
  })
}

/** One budget, as a request sees it. */
interface Room {
  readonly holder: BudgetNode
  readonly bound: Held
  readonly limit: Amount
  readonly spent: Amount | undefined
  /** What is unused, what is not held, and what would not be held if all open requests used nothing. */
  readonly left: Amount
  readonly free: Amount
  readonly drained: Amount
}

const minus = BigDecimal.subtract
const plus = BigDecimal.sum

/** The budgets that apply to a request. It may use what is reserved for its own tasks. */
const roomsFor = (node: BudgetNode): ReadonlyArray<Room> =>
  bounds.flatMap((bound) => {
    let mine = zero
    let inside = zero
    let promisedInside = zero
    return lineOf(node).flatMap((holder) => {
      const account = holder.session.account
      const given = account?.limit[bound]
      const limit = given === undefined ? undefined : toAmount(given)
      const promised = plus(minus(heldOf(holder.held.promised, bound), mine), promisedInside)
      const held = plus(
        plus(minus(heldOf(holder.held.promised, bound), mine), heldOf(holder.held.requested, bound)),
        inside
      )
      if (isPromised(holder, bound)) {
        mine = holder.promise?.kept?.get(bound)?.amount ?? zero
        inside = held
        promisedInside = promised
      }
      if (account === undefined || limit === undefined) return []
      const spent = spentOf(holder, account, bound)
      const left = minus(limit, spent ?? limit)
      return [{ holder, bound, limit, spent, left, free: minus(left, held), drained: minus(left, promised) }]
    })
  })

const exhaustedBy = (
  { node, need, said }: Waiter,
  { bound, free, holder, left, limit, spent }: Room
): BudgetExhausted => {
  const amount = formatAmount(bound, plainDecimal(limit))
  const kept = BigDecimal.greaterThan(left, free) ? `, ${plainDecimal(minus(left, free))} are kept for others` : ""
  const needs = plainDecimal(amountOf(need, bound, Math.min(need.least, need.most)))
  return new BudgetExhausted({
    holder: holder.session.id,
    which: bound,
    amount,
    text: said(),
    message: (spent === undefined
      ? unenforceable(amount)
      : `The budget of ${amount} for ${whose(node, holder)} does not suffice for another request: ${
        plainDecimal(spent)
      } are used${kept}, and the request needs about ${needs}.`) +
      ` What was done is kept. To continue, set a new budget (${budgetFlags[bound]}).`
  })
}

const least = (rooms: ReadonlyArray<Room>, of: (room: Room) => number): [Room | undefined, number] => {
  let found: Room | undefined
  let amount = Number.POSITIVE_INFINITY
  for (const room of rooms) {
    const each = of(room)
    if (each >= amount) continue
    found = room
    amount = each
  }
  return [found, amount]
}

/** What a later request must leave for an earlier one. */
type Closed = Map<BudgetNode, Set<Held>>

const isClosed = (closed: Closed, { bound, holder }: Room): boolean => closed.get(holder)?.has(bound) === true

/** A request waits for a budget; `isShort` if it cannot be sent at all, rather than waiting behind others. */
interface Blocked {
  readonly by: Room
  readonly isShort: boolean
}

/** What happens to a request now: granted, refused, or waiting. */
const decide = (waiter: Waiter, closed: Closed): Grant | BudgetExhausted | Blocked => {
  const { node, need } = waiter
  const rooms = roomsFor(node)
  const smallest = smallestOf(waiter)
  const [short, most] = least(rooms, ({ bound, left }) => outputWithin(need, bound, left))
  if (short !== undefined && most < smallest) return exhaustedBy(waiter, short)
  const turn = rooms.find((room) => isClosed(closed, room))
  if (turn !== undefined) return { by: turn, isShort: false }
  const within = ({ bound, free }: Room) => outputWithin(need, bound, free)
  const [tight, free] = least(rooms, within)
  if (tight !== undefined && free < smallest) return { by: tight, isShort: true }
  // A small grant now would cut the answer off, and open requests may soon release enough.
  const scarce = rooms.find((room) =>
    within(room) < Math.min(need.most, need.preferred) && BigDecimal.isPositive(minus(room.drained, room.free))
  )
  if (scarce !== undefined) return { by: scarce, isShort: false }
  const [, share] = least(rooms, (room) => Math.floor(within(room) / (room.holder.work.turns + 1)))
  return grantOf(node, need, tight, Math.min(need.most, free, Math.max(need.preferred, share)))
}

const grantOf = (node: BudgetNode, need: Need, tight: Room | undefined, output: number): Grant => {
  const isCapped = tight !== undefined && Number.isFinite(output)
  const entries = bounds.flatMap((bound) => {
    const amount = amountOf(need, bound, Number.isFinite(output) ? output : 0)
    return BigDecimal.isZero(amount)
      ? []
      : holdersOf(node, bound).map(({ held }) => ({ sums: held.requested, bound, amount }))
  })
  for (const { amount, bound, sums } of entries) addHeld(sums, bound, amount)
  let isHeld = true
  return {
    cap: isCapped ? output : undefined,
    bound: isCapped && output < need.most ? tight.bound : undefined,
    release: () => {
      if (!isHeld) return
      isHeld = false
      for (const { amount, bound, sums } of entries) addHeld(sums, bound, BigDecimal.negate(amount))
      grantWaiting(node)
    }
  }
}

const explain = (waiter: Waiter, { bound, free, holder, limit }: Room): void => {
  const free_ = plainDecimal(BigDecimal.max(zero, free))
  waiter.why = {
    which: bound,
    message: `waits for budget: ${free_} of ${formatAmount(bound, plainDecimal(limit))} for ${
      whose(waiter.node, holder)
    } are free until others give back what they hold`
  }
}

const smallestOf = ({ need }: Waiter): number => Math.min(need.least, need.most)

const end = (waiter: Waiter, waiters: Set<Waiter>, error: BudgetExhausted): void => {
  finish(waiter, waiters)
  Deferred.unsafeDone(waiter.done, Effect.fail(error))
}

const finish = (waiter: Waiter, waiters: Set<Waiter>): void => {
  waiters.delete(waiter)
  waiter.isOver = true
  if (waiter.inLoop) waiter.node.waits = false
}

/** Grants what is free in order; returns the requests that cannot be sent at all for now. */
const grantNow = (waiters: Set<Waiter>): ReadonlyArray<readonly [Waiter, Room]> => {
  const closed: Closed = new Map()
  const short: Array<readonly [Waiter, Room]> = []
  for (const waiter of waiters) {
    const found = decide(waiter, closed)
    if (found instanceof BudgetExhausted) end(waiter, waiters, found)
    else if ("release" in found) {
      finish(waiter, waiters)
      waiter.grant = found
      waiter.granted(found)
      Deferred.unsafeDone(waiter.done, Effect.succeed(found))
    } else {
      const { bound, drained, holder } = found.by
      explain(waiter, found.by)
      if (found.isShort) short.push([waiter, found.by])
      if (outputWithin(waiter.need, bound, drained) < smallestOf(waiter)) continue
      closed.set(holder, (closed.get(holder) ?? new Set()).add(bound))
      // Including what later requests need of it.
      if (holder.parent === undefined && bound !== "steps") break
    }
  }
  return short
}

/**
 * Grants what was released to the waiting requests of a tree. A request keeps its place if open requests will leave
 * enough for it; one that waits for a task to end lets smaller ones pass. Fails requests that can never be granted.
 */
export const grantWaiting = (node: BudgetNode): void => {
  const { waiters } = node
  if (waiters.size === 0) return
  const lost = grantNow(waiters).find(([{ node: asks }, { bound, holder }]) => !canComeBack(asks, holder, bound))
  if (lost !== undefined) end(lost[0], waiters, exhaustedBy(...lost))
}

/**
 * Holds the maximum of a request, or waits for it. `onWaiting` is called with what it waits for; `away` is how it
 * waits.
 */
export const holdFor = (
  request: Pick<Waiter, "granted" | "inLoop" | "node" | "need" | "said">,
  onWaiting: (why: NonNullable<Waiter["why"]>) => Effect.Effect<void>,
  away: (waiting: Effect.Effect<Grant, BudgetExhausted>) => Effect.Effect<Grant, BudgetExhausted>
): Effect.Effect<Grant, BudgetExhausted> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() => {
      const { inLoop, node } = request
      const { waiters } = node
      const done = Deferred.unsafeMake<Grant, BudgetExhausted>(noFiber)
      const waiter: Waiter = { ...request, done, grant: undefined, why: undefined, isOver: false }
      waiters.add(waiter)
      grantNow(waiters)
      if (waiter.isOver) return Deferred.await(done)
      // While this request waits, its session releases nothing: others must not wait for that.
      if (inLoop) node.waits = true
      grantWaiting(node)
      if (waiter.isOver) return Deferred.await(done)
      const waiting = Effect.zipRight(
        Effect.suspend(() => onWaiting(waiter.why ?? { which: "tokens", message: "waits for budget" })),
        Deferred.await(done)
      )
      return Effect.onError(restore(away(waiting)), () =>
        Effect.sync(() => {
          if (!waiter.isOver) finish(waiter, waiters)
          waiter.grant?.release()
          grantWaiting(node)
        }))
    })
  )
