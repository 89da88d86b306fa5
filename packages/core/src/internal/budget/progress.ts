/** Decides whether what is held of a budget can come back: somebody who holds it must be able to go on. */
import type { Bound } from "@skein/domain/Budget"
import * as BigDecimal from "effect/BigDecimal"
import type { BudgetNode, Reservation } from "./BudgetNode.ts"
import { heldOf } from "./held.ts"
import { lineOf } from "./reservations.ts"

const holds = (node: BudgetNode, bound: Bound, line: ReadonlySet<BudgetNode>): boolean => {
  for (const reservation of node.reservations) {
    if (!holdsPromise(reservation, bound)) continue
    const { node: child } = reservation
    // What has not begun gets a slot: who waits for budget gives theirs back.
    if (child === undefined || (!line.has(child) && child.session.goesOn())) return true
  }
  for (const task of node.session.budgetsOfTasks()) if (holds(task, bound, line)) return true
  return false
}

const holdsPromise = ({ kept }: Reservation, bound: Bound): boolean => {
  const found = kept.get(bound)
  return found !== undefined && BigDecimal.isPositive(found.amount)
}

/** Whether others hold something of a budget and will give it back without the request that asks. */
export const canComeBack = (asks: BudgetNode, holder: BudgetNode, bound: Bound): boolean => {
  const line = lineOf(asks)
  return line.slice(0, line.indexOf(holder) + 1).some(({ held }) =>
    BigDecimal.isPositive(heldOf(held.requested, bound))
  )
    || holds(holder, bound, new Set(line))
}
