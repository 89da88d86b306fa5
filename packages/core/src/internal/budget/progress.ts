/** Decides whether what is held of a budget can come back: some holder must be able to continue. */
import type { Bound } from "@skein/domain/Budget"
import * as BigDecimal from "effect/BigDecimal"
import type { BudgetNode, Reservation } from "./BudgetNode.ts"
import { heldOf } from "./held.ts"
import { lineOf } from "./reservations.ts"

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
