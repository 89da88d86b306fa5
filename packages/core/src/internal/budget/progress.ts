/** Decides whether what is held of a budget can come back: somebody who holds it must be able to go on. */
import type { Bound } from "@skein/domain/Budget"
import * as BigDecimal from "effect/BigDecimal"
import type { Live } from "../live/live.ts"
import { heldOf } from "./held.ts"
import { lineOf, type Reservation } from "./reservations.ts"

/** Whether the work of a session, or of a task below it, goes on by itself. */
const goesOn = (live: Live): boolean => {
  const tasks = [...live.tasks]
  if (tasks.some((task) => !task.hasBegun || goesOn(task.live))) return true
  if (live.waitsForBudget) return false
  if (live.person.waiting > 0 || tasks.length === 0) return true
  // With tasks that all wait, it works on where it asks its model, or makes a call that waits for nobody.
  return live.running !== undefined && (live.calls.open === 0 || live.calls.waiting < live.calls.open)
}

const holds = (live: Live, bound: Bound, line: ReadonlySet<Live>): boolean => {
  for (const reservation of live.reservations) {
    if (!holdsPromise(reservation, bound)) continue
    const { live: child } = reservation
    // What has not begun gets a slot: who waits for budget gives theirs back.
    if (child === undefined || (!line.has(child) && goesOn(child))) return true
  }
  for (const task of live.tasks) if (holds(task.live, bound, line)) return true
  return false
}

const holdsPromise = ({ kept }: Reservation, bound: Bound): boolean => {
  const found = kept.get(bound)
  return found !== undefined && BigDecimal.isPositive(found.amount)
}

/** Whether others hold something of a budget and will give it back without the request that asks. */
export const canComeBack = (asks: Live, holder: Live, bound: Bound): boolean => {
  const line = lineOf(asks)
  return line.slice(0, line.indexOf(holder) + 1).some(({ held }) =>
    BigDecimal.isPositive(heldOf(held.requested, bound))
  )
    || holds(holder, bound, new Set(line))
}
